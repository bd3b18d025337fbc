"""Arrays of NumPy and tensors of torch: there and back, without copies, of every kind.

torch, which is large, and ml_dtypes are tested where they are there: what they make is in the vectors, too.
"""

import math
import os
import subprocess
import sys
import unittest
import unittest.mock
import warnings
from pathlib import Path
from typing import Any, List

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from test_values import sent  # noqa: E402
from values_cases import module  # noqa: E402

from seer_worker import values  # noqa: E402
from seer_worker.execution import staging  # noqa: E402
from seer_worker.schema.arrays import Array, Tensor  # noqa: E402

torch = module("torch")


def equal(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class NumPy(unittest.TestCase):
    def test_every_dtype_and_layout(self) -> None:
        chance = np.random.RandomState(5)
        dtypes = [
            "?",
            "i1",
            "i2",
            "i4",
            "i8",
            "u1",
            "u2",
            "u4",
            "u8",
            "f2",
            "f4",
            "f8",
            "c8",
            "c16",
            "M8[ns]",
            "M8[D]",
            "m8[us]",
            "U3",
            "S5",
        ]
        for dtype in dtypes:
            raw = np.frombuffer(chance.bytes(3 * 4 * 5 * 20), "u1").copy()
            a = (raw[:60] % 2 == 0).reshape(3, 4, 5) if dtype == "?" else (raw[:60] % 100).astype("i8").astype(dtype).reshape(3, 4, 5)
            for name, one in {
                "whole": a,
                "transposed": a.T,
                "strided": a[::2, 1:, ::-1],
                "row": a[1],
                "scalar in a list": a[:1, 0, 0],
                "empty": a[:0],
                "empty within": a[:, :0],
                "read-only": _read_only(a),
                "Fortran's": np.asfortranarray(a),
            }.items():
                with self.subTest(dtype, layout=name):
                    self.assertTrue(equal(sent([one])[0], one))
                    self.assertTrue(equal(sent(one.astype(one.dtype.newbyteorder(">"))), one))

    def test_contiguous_arrays_are_sent_from_where_they_are(self) -> None:
        a = np.zeros((1000, 10), "f4")
        encoded = values.encode({"a": a, "again": a})
        a[0, 0] = 1
        self.assertEqual(bytes(encoded.buffers[0][:4]), np.float32(1).tobytes())
        self.assertEqual(len(encoded.buffers), 1, "the same array is sent once")

    def test_arrays_lie_in_the_memory_that_came(self) -> None:
        encoded = values.encode(np.arange(100, dtype="f8"))
        reader = values.BodyReader(encoded.size)
        for piece in encoded.body():
            reader.feed(piece)
        parts = reader.parts()
        array = values.decode(parts, True)
        array[0] = 7
        self.assertEqual(np.frombuffer(parts[1], "f8")[0], 7)

    def test_unaligned_memory_is_made_good(self) -> None:
        memory = bytearray(81)
        array = values.decode([b'{"$seer":{"array":{"dtype":"float64","shape":[10],"buffer":1}}}', memoryview(memory)[1:]], True)
        self.assertTrue(array.flags.aligned and array.flags.writeable)

    def test_scalars_are_numbers(self) -> None:
        for value, want in (
            (np.float32(0.5), 0.5),
            (np.int8(-3), -3),
            (np.bool_(True), True),
            (np.float64("nan"), math.nan),
            (np.complex64(1j), 1j),
            (np.str_("a"), "a"),
            (np.bytes_(b"a"), b"a"),
            (np.array(5, ">u2"), 5),
            (np.array("ä"), "ä"),
            (np.longdouble(2), 2.0),
        ):
            got = sent([value, {"a": value}])
            self.assertEqual(repr(got), repr([want, {"a": want}]))
        self.assertEqual(sent(np.datetime64("2026-01-31", "D")), np.datetime64("2026-01-31", "D"))
        self.assertEqual(sent({np.int64(1): np.array([None, b"x", np.arange(2)], object)})["1"][1], b"x")

    def test_what_cannot_be_sent_says_what_to_do(self) -> None:
        for value, message in (
            (np.zeros(2, [("a", "i4")]), "send its fields one by one"),
            (np.zeros(2, np.longdouble), "use .astype('float64')"),
            (np.ma.masked_array([1, 2], [True, False]), "use .filled(…)"),
            (np.zeros(2, "M8[25s]"), "use .astype('datetime64[s]')"),
            (np.zeros(2, "m8"), "use .astype('timedelta64[s]')"),
        ):
            with self.subTest(message), self.assertRaises(values.Unserialisable) as caught:
                values.encode({"x": [value]})
            self.assertRegex(
                caught.exception.at("result"),
                r'^result\["x"\]\[0\] is .*' + message.replace("(", r"\(").replace(")", r"\)").replace("[", r"\["),
            )

    def test_secrets_in_arrays_of_texts(self) -> None:
        for array in (np.array(["a hunter22", "b"]), np.array([b"a hunter22", b"b"])):
            encoded = values.encode(array, lambda text: text.replace("hunter22", "[secret K]"), ("hunter22",))
            body = b"".join(encoded.body())
            self.assertNotIn(b"h\0\0\0u\0\0\0n\0\0\0t", body)
            self.assertNotIn(b"hunter22", body)
            self.assertIn(b"[secret K]", body)

    def test_small_arrays_become_those_of_numpy(self) -> None:
        a = np.arange(6, dtype="i2").reshape(2, 3)
        small = values.Array("int16", (2, 3), a.tobytes())
        self.assertTrue(equal(np.asarray(small), a))
        self.assertEqual(np.asarray(small, dtype="f4").dtype, np.dtype("f4"))

    def test_nothing_is_imported_to_write(self) -> None:
        program = (
            "import sys; from seer_worker import values; values.encode({'a': [b'x', 1.5, 1j]}); "
            "sys.exit(any(m in sys.modules for m in ('numpy', 'torch', 'PIL', 'pandas')))"
        )
        subprocess.run(
            [sys.executable, "-c", program], check=True, cwd=str(HERE.parent), env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        )


def _read_only(a: Any) -> Any:
    a = a.copy()
    a.flags.writeable = False
    return a


def dtypes() -> List[Any]:
    """The dtypes of this torch that travel."""
    names = [n for n in vars(torch) if isinstance(getattr(torch, n), torch.dtype)]
    found = []
    for dtype in {getattr(torch, n) for n in names}:
        try:
            values.encode(torch.zeros(2).to(dtype))
            found.append(dtype)
        except (values.Unserialisable, RuntimeError, TypeError):  # of quantized tensors, and of halves of complex numbers
            pass
    return sorted(found, key=str)


def bits(t: Any) -> Any:
    """What a tensor is made of: NaN is equal to NaN there."""
    return t.contiguous().reshape(-1).view(torch.uint8)


def torch_test(self: NumPy) -> None:
    wanted = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool complex64 complex128".split()
    self.assertLessEqual({"torch." + name for name in wanted}, set(map(str, dtypes())))
    for dtype in dtypes():
        t = torch.arange(24).reshape(2, 3, 4).to(dtype)
        kinds = {"whole": t, "transposed": t.transpose(0, 2), "row": t[:, 1], "strided": t[:, ::2], "empty": t[:0],
                 "empty within": t[:, :0], "without dimensions": t[1, 1, 1], "expanded": t[:1].expand(5, 3, 4), "one gone": t.clone()[1:]}
        if t.is_floating_point() or t.is_complex():
            kinds["parameter"] = torch.nn.Parameter(t)
            kinds["of a graph"] = torch.nn.Parameter(t) * 1 if "float8" not in str(dtype) else t
        if t.is_complex():
            kinds.update(conj=t.conj(), real=t.real, imag=t.imag, neg=t.conj().imag)
        for what, one in kinds.items():
            with self.subTest(str(dtype), tensor=what):
                got = sent({"t": [one]}, tensors=True)["t"][0]
                self.assertIs(type(got), torch.Tensor)
                self.assertEqual((got.dtype, got.shape, got.device.type), (one.dtype, one.shape, "cpu"))
                self.assertFalse(got.requires_grad or got.is_conj() or got.is_neg() or not got.is_contiguous())
                self.assertTrue(torch.equal(bits(got), bits(one.detach().resolve_conj().resolve_neg())))
                self.assertFalse(hasattr(got, "seer_device"))
                got.copy_(got.clone())  # it may be written to
    for value in (2.5, True, -3, 1 - 2j):
        self.assertEqual(repr(sent([torch.tensor(value)])), repr([value]))  # for who has no torch, it is a number
    self.assertEqual(sent({torch.tensor(3): 1}, tensors=True), {3: 1})  # other languages have no tensors as keys
    self.assertEqual(sent(torch.tensor([0.5], dtype=torch.bfloat16)).tolist(), [0.5])
    kept = torch.zeros(1000)
    encoded = values.encode(kept)
    kept[0] = 1
    self.assertEqual(bytes(encoded.buffers[0][:4]), np.float32(1).tobytes())
    buffer = values.encode(torch.ones(1000, dtype=torch.bfloat16)).buffers[0]  # the tensor is gone, its memory must not be
    self.assertEqual(bytes(buffer), b"\x80\x3f" * 1000)


def refused_test(self: NumPy) -> None:
    t = torch.zeros(2, 2)
    for value, message in (
        (t.to_sparse(), "is a sparse tensor, which cannot be sent; use .to_dense()"),
        (t.to_sparse_csr(), "is a sparse tensor, which cannot be sent; use .to_dense()"),
        (torch.quantize_per_tensor(t, 0.1, 10, torch.quint8), "is a quantized tensor, which cannot be sent; use .dequantize()"),
        (torch.nested.nested_tensor([torch.zeros(1), torch.zeros(2)]), "is a nested tensor, which cannot be sent; use .unbind()"),
        (torch.empty(2, device="meta"), "is a tensor on the device meta, which has no values and cannot be sent"),
        (torch.view_as_complex(t.half()), "is a tensor of the dtype complex32, which cannot be sent; use .to(…) of another"),
    ):
        with self.subTest(message), self.assertRaises(values.Unserialisable) as caught:
            values.encode({"x": [value]})
        self.assertIn('result["x"][0] ' + message, caught.exception.at("result"))


def placed_test(self: NumPy) -> None:
    """A tensor that comes from a GPU says so; what lies at an odd place in what came is a tensor all the same."""
    head = b'{"$seer":{"array":{"dtype":"int64","shape":[2],"buffer":1,"lib":"torch","device":"cuda:1"}}}'
    for memory in (bytearray(17), bytes(17)):
        got = values.decode([head, memoryview(memory)[1:]], True, tensors=True)
        self.assertEqual((got.tolist(), got.seer_device, got.data_ptr() % 8), ([0, 0], "cuda:1", 0))
        got += 1
    self.assertIs(type(values.decode([head, bytearray(16)], True)), np.ndarray)


def staged_test(self: NumPy) -> None:
    """The way of large tensors from a GPU, with the CPU in its place: nothing but streams and events is not torch's own."""
    stream = unittest.mock.MagicMock()
    with unittest.mock.patch.multiple(staging, PIECE=100, LEAST=1), unittest.mock.patch.multiple(
            torch.cuda, Event=stream, Stream=stream, current_stream=stream, stream=stream), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no pinned memory
        stager = staging.Stager()
        for dtype in dtypes():
            t = torch.arange(180).to(dtype).reshape(12, 15)
            for one in (t, t.T, t[::2, 1:], t[3:4, :1], t.conj() if t.is_complex() else t):
                for fetch in (stager.fetch, stager.ahead):
                    with self.subTest(str(dtype)), unittest.mock.patch.object(torch.Tensor, "device", unittest.mock.Mock(type="cuda")):
                        encoded = values.encode([one], fetch=fetch)
                        self.assertEqual(stager.arrival(encoded) is None, fetch == stager.fetch)
                        self.assertTrue(stager.whole(list(encoded.buffers)))
                    self.assertEqual(bytes(encoded.buffers[0]), bytes(bits(one.resolve_conj()).numpy()))


def cuda_test(self: NumPy) -> None:
    t = torch.arange(24, device="cuda").reshape(4, 6).to(torch.bfloat16)
    for one in (t, t.T, t[:, ::2]):
        self.assertTrue(torch.equal(sent(one, tensors=True), one.cpu()))
    self.assertEqual(sent(t[1, 1]), 7.0)


def shorts_test(self: NumPy) -> None:
    more = sys.modules["ml_dtypes"]
    for dtype in (more.bfloat16, more.float8_e4m3fn, more.float8_e5m2):
        a = np.array([[0.5, 1, -2]]).astype(dtype)
        self.assertTrue(equal(sent(a.T), a.T))
        self.assertEqual(sent([a[0, 0], a[0, 0].reshape(())]), [0.5, 0.5])


def passed_on_test(self: NumPy) -> None:
    """A tensor that a caller without torch gets as an array, and gives to the next function, is the tensor again."""
    more, checked = sys.modules["ml_dtypes"], 0
    for dtype in dtypes():
        name = str(dtype).rpartition(".")[2]
        t = torch.arange(24).reshape(2, 3, 4).to(dtype)
        got = sent(t)
        if dtype.is_complex:
            continue
        self.assertIn(str(got.dtype), (name, getattr(more, name, None) and name))
        checked += 1
        for what, array, want in (("whole", got, t), ("slice", sent(t[1, ::2]), t[1, ::2]), ("strided", got[:, ::2, 1:], t[:, ::2, 1:]),
                                  ("backwards", got[:, ::-1], t.flip(1)), ("read-only", _read_only(got), t)):
            with self.subTest(name, array=what):
                tensor = Tensor().convert(array)
                self.assertEqual((tensor.dtype, tensor.shape), (dtype, want.shape))
                self.assertTrue(torch.equal(tensor.double(), want.double()))
                self.assertTrue(equal(Array().convert(want), sent(want)))
                self.assertEqual(sent([tensor], tensors=True)[0].dtype, dtype)
    self.assertGreater(checked, 8)


def floats_test(self: NumPy) -> None:
    """What NumPy alone does not have becomes a float32 for a function that wants an array."""
    with unittest.mock.patch("seer_worker.schema.arrays.installed", lambda name: None):
        found = Array().convert(torch.tensor([0.5, -2], dtype=torch.bfloat16))
    self.assertEqual((found.dtype, found.tolist()), (np.dtype("f4"), [0.5, -2]))


for name, found, test in (
    ("torch", torch, torch_test),
    ("refusals", torch, refused_test),
    ("places", torch, placed_test),
    ("staging", torch, staged_test),
    ("cuda", torch and torch.cuda.is_available(), cuda_test),
    ("short_floats", module("ml_dtypes"), shorts_test),
    ("passing_on", torch and module("ml_dtypes"), passed_on_test),
    ("floats", torch, floats_test),
):
    if found:
        setattr(NumPy, "test_of_" + name, test)


if __name__ == "__main__":
    unittest.main()
