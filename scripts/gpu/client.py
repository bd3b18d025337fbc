"""Runs outside of the sandbox, with the library of served_tensors.py: compares values, and measures a large one.

client.py MEGABYTES prints {"dtypes", "count", "name", "device", "slice_ms", "large_s"}, large_s being the best of three.
"""

import json
import sys
import time

import tensors as library
import torch

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 complex64 complex128 "
          "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu").split()


def bits(t):
    return t.contiguous().reshape(-1).view(torch.uint8)


def check(name, got, want, device):
    """A tensor of a GPU is the same tensor on the CPU, and says where it was."""
    assert type(got) is torch.Tensor, "%s came as %s" % (name, type(got))
    assert (got.dtype, got.shape, got.device.type) == (want.dtype, want.shape, "cpu"), (name, got.dtype, got.shape, got.device)
    assert torch.equal(bits(got), bits(want)), "%s has other values: %s" % (name, got)
    assert getattr(got, "seer_device", "cpu").partition(":")[0] == device, "%s does not say that it was on %s" % (name, device)


def best(times, call):
    found = []
    for _ in range(times):
        begun = time.monotonic()
        call()
        found.append(time.monotonic() - begun)
    return min(found)


about = library.about()
device, names = about["device"], [name for name in DTYPES if hasattr(torch, name)]
for name in names:
    t = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4).to(getattr(torch, name))
    wanted = [t, t.transpose(0, 2), t[:, ::2], t[:0], t[1, 1, 1]]
    for got, want in zip(library.made(name), wanted):
        check(name, got, want, device)
        check(name, library.same(want), want, device)
for n, got in enumerate(library.steps(3)):
    check("an item of a generator", got, torch.full((2,), n, dtype=torch.float16), device)
handle = library.states.handle(4)
check("a slice of a handle", handle[-1], torch.full((64, 128), 3.0, dtype=torch.bfloat16), device)
assert library.total(handle.handle(["index", -1])) == 3.0 * 64 * 128
megabytes = int(sys.argv[1])
slice_ms = 1000 * best(20, lambda: library.total(handle.handle(["index", 2])))
print(json.dumps({**about, "dtypes": len(names), "slice_ms": slice_ms, "large_s": best(3, lambda: library.large(megabytes))}))
