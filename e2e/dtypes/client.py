"""A program with torch uses the generated library: tensors are tensors, in both directions."""

import sys

import tools

assert "torch" not in sys.modules, "the library imports torch"
assert tools.scaled(2.0) == 4.0 and "torch" not in sys.modules
with tools.options(tensors="numpy"):
    number = tools.made("float32")["number"]
    assert type(number) is float and "torch" not in sys.modules, "numpy was asked for"
first = tools.made("float32")["whole"]
assert "torch" in sys.modules

import numpy as np  # noqa: E402
import torch  # noqa: E402

assert type(first) is torch.Tensor, type(first)
DTYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool complex64 complex128"
for name in DTYPES.split():
    dtype = getattr(torch, name)
    want = torch.arange(24).reshape(2, 3, 4).to(dtype)
    got = tools.made(name)
    for shape, one in {"whole": want, "strided": want[:, ::2].transpose(0, 2), "empty": want[:0], "number": want[1, 1, 1]}.items():
        found = got[shape]
        assert (type(found), found.dtype, found.shape) == (torch.Tensor, dtype, one.shape), (name, shape, found)
        assert torch.equal(found, one) and found.is_contiguous(), (name, shape, found)
        back = tools.same(one)
        assert (type(back), back.dtype, back.shape) == (torch.Tensor, dtype, one.shape) and torch.equal(back, one), (name, shape)
        assert tools.seen(one) == f"torch.Tensor {dtype}", tools.seen(one)
    assert torch.equal(got["nested"][0]["same"], want) and torch.equal(got["nested"][1]["weights"], want), name
    assert torch.equal(tools.same(torch.zeros(1, dtype=dtype)), torch.zeros(1, dtype=dtype))

assert tools.scaled(torch.tensor(1.5)) == 3.0
assert type(tools.same(torch.nn.Parameter(torch.ones(2)))) is torch.Tensor
assert [t.dtype for t in tools.layers(3)] == [torch.bfloat16] * 3
states = tools.states.handle()
last = states[-1]
assert (type(last), last.dtype, last.shape, last.requires_grad) == (torch.Tensor, torch.bfloat16, (4, 8), False), last
assert tools.seen(states[-1]) == "torch.Tensor torch.bfloat16" and torch.equal(tools.same(last), last)
assert float(states[-1].sum()) == 64 and states[1].mean() == 1
# An array with one of ml_dtypes, as a program without torch has it, becomes a tensor.
with tools.options(tensors="numpy"):
    array = tools.made("bfloat16")["whole"]
    assert type(array) is np.ndarray and array.dtype.name == "bfloat16", array.dtype
    assert tools.as_array(torch.ones(2, dtype=torch.bfloat16)).dtype.name == "float32"  # the sandbox has no ml_dtypes
assert torch.equal(tools.same(array), tools.made("bfloat16")["whole"])
for value, words in ((tools.sparse, "sparse tensor"), (tools.fails, "no")):
    try:
        value()
        raise AssertionError(words)
    except tools.CallError as e:
        assert words in str(e), e
try:
    tools.same(torch.eye(2).to_sparse())
    raise AssertionError("a sparse tensor was sent")
except tools.BadArguments as e:
    assert "is a sparse tensor, which cannot be sent; use .to_dense()" in str(e), e
print("tensors are tensors")
