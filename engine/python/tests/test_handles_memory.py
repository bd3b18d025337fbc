"""What handles hold: a view counts as its base, or becomes a copy."""

import array
import collections
import dataclasses
import io
import mmap
import types
import unittest
from typing import Any, Dict, List

import numpy

from seer_worker.handles.handles import HandleGone, Handles
from seer_worker.handles.memory import memory_of

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]
try:
    import pandas
except ImportError:
    pandas = None  # type: ignore[assignment]
try:
    from PIL import Image
except ImportError:
    Image = None  # type: ignore[assignment,misc]

MIB = 1 << 20


class Base(unittest.TestCase):
    def setUp(self) -> None:
        self.variables: Dict[str, Any] = {}
        self.handles = Handles({"handle_bytes": 8 * MIB}, variables=lambda: list(self.variables.values()))

    def held(self, token: str = "main") -> int:
        return self.handles._holdings.of.get(token, 0)

    def alive(self, token: str = "main") -> List[str]:
        return [h["id"] for h in self.handles.list(token)]


class Views(Base):
    def test_slices_whose_base_is_released(self) -> None:
        for _ in range(20):
            base = self.handles.keep(numpy.ones(4 * MIB, "u1"), "main")["id"]
            self.handles.make(base, [["index", {"slice": [0, 10]}]], "main")
            self.handles.release([base], "main")
        self.assertLess(self.held(), MIB)
        self.assertEqual(len(self.alive()), 20)

    def test_a_large_view_counts_as_its_base(self) -> None:
        base = self.handles.keep(numpy.ones(4 * MIB, "u1"), "main")["id"]
        part = self.handles.make(base, [["index", {"slice": [0, 3 * MIB]}]], "main")["id"]
        self.assertAlmostEqual(self.held() / MIB, 4, delta=0.1)  # once for both
        self.handles.release([base], "main")
        self.assertAlmostEqual(self.held() / MIB, 4, delta=0.1)
        self.handles.release([part], "main")
        self.assertEqual(self.held(), 0)
        self.assertEqual(self.handles._holdings._bases, {})

    def test_each_token_counts_what_it_shares(self) -> None:
        base = numpy.ones(2 * MIB, "u1")
        for token in ("t-a", "t-a", "t-b"):
            self.handles.keep(base, token)
        self.assertEqual([round(self.held(t) / MIB) for t in ("t-a", "t-b")], [2, 2])

    def test_a_token_that_is_revoked_holds_nothing(self) -> None:
        mine = self.handles.keep(numpy.ones(MIB, "u1"), "t-a")["id"]
        theirs = self.handles.keep(numpy.ones(MIB, "u1"), "t-b")["id"]
        self.handles.revoke({"main", "t-b"})
        self.handles.sweep()
        self.assertEqual((self.held("t-a"), self.alive("t-b")), (0, [theirs]))
        with self.assertRaises(HandleGone):
            self.handles.value(mine, "t-a")

    def test_a_copy_that_does_not_fit_is_not_made(self) -> None:
        base = numpy.ones(20 * MIB, "u1")
        first = self.handles.keep(base, "main")["id"]
        part = self.handles.make(first, [["index", {"slice": [0, 9 * MIB]}]], "main")["id"]
        self.assertIs(self.handles.value(part, "main").base, base)
        self.assertEqual(self.alive(), [part])  # counts as its base, beside which nothing fits

    def test_owners_of_every_kind(self) -> None:
        with mmap.mmap(-1, 4 * MIB) as memory:
            for owner in (b"x" * 4 * MIB, bytearray(4 * MIB), array.array("B", bytes(4 * MIB)), memory,
                          memoryview(bytearray(4 * MIB))[10:], numpy.ones(MIB, "f4")):
                view = numpy.frombuffer(owner, "u1")[5:9]
                for value in (view, [view], memoryview(owner)[:4] if not isinstance(owner, numpy.ndarray) else view):
                    self.assertAlmostEqual(memory_of(value).total / MIB, 4, delta=0.01, msg=type(owner))
                del view, value
        self.assertLess(memory_of(numpy.broadcast_to(numpy.float64(1), (1 << 40,))).total, 1000)

    def test_values_that_hold_views(self) -> None:
        @dataclasses.dataclass
        class Result:
            part: Any

        class Slotted:
            __slots__ = ("part",)

        def large() -> Any:
            return numpy.ones(4 * MIB, "u1")[:3]

        def generator(part: Any) -> Any:
            yield 1
            yield part

        begun = generator(large())
        next(begun)
        slotted = Slotted()
        slotted.part = large()
        part = large()
        objects = numpy.empty(1, object)
        objects[0] = large()
        masked = numpy.ma.MaskedArray(numpy.zeros(3), mask=numpy.zeros(4 * MIB, bool)[:3], keep_mask=False, copy=False)
        masked._mask = numpy.zeros(4 * MIB, bool)[:3]
        nested: Any = large()
        for _ in range(5000):
            nested = [nested]
        many = [0] * 10_000 + [large()] + [0] * 10_000
        for value in ({"a": large()}, [large()] * 10, (large(),), {large().tobytes(): large()}, Result(large()), slotted, begun,
                      lambda: part, collections.deque([large()]), types.SimpleNamespace(x={"y": [large()]}), objects, objects[:0],
                      masked, nested, io.BytesIO(b"x" * 4 * MIB), large().data, iter([large()]), many,
                      collections.defaultdict(list, a=[large()]), {1: "x" * 4 * MIB}):
            self.assertAlmostEqual(memory_of(value).total / MIB, 4, delta=0.4, msg=type(value))

    def test_the_program_itself_does_not_count(self) -> None:
        for value in (memory_of, numpy, numpy.ndarray, type(self), [print], lambda: numpy, vars(numpy)):
            self.assertLess(memory_of(value).total, 10_000, value)

    def test_what_endless_and_broken_values_hold(self) -> None:
        endless: List[Any] = [numpy.ones(MIB, "u1")]
        endless.append(endless)

        class Broken:
            def __init__(self) -> None:
                self.part = numpy.ones(MIB, "u1")

            def __getattribute__(self, name: str) -> Any:
                raise RuntimeError(name)

            def __sizeof__(self) -> int:
                raise RuntimeError

        for value in (endless, Broken(), [Broken()]):
            self.assertAlmostEqual(memory_of(value).total / MIB, 1, delta=0.1, msg=type(value))

    def test_what_calls_put_into_a_value_counts(self) -> None:
        box: List[Any] = []
        id = self.handles.keep(box, "main")["id"]
        with self.assertRaises(HandleGone):
            for _ in range(10):
                self.handles.value(id, "main").append(numpy.ones(4 * MIB, "u1"))
                self.handles.keep(0, "main")
        self.assertLess(self.held(), MIB)

    def test_variables_of_the_interface_do_not_count(self) -> None:
        weights = self.variables["weights"] = numpy.ones(100 * MIB, "u1")[:].reshape(100, -1)
        self.variables["model"] = model = types.SimpleNamespace(weights=weights)
        id = self.handles.keep(weights[3], "main")["id"]
        self.handles.keep({"model": model, "n": 1}, "main")["id"]
        self.assertTrue(numpy.shares_memory(self.handles.value(id, "main"), weights))  # no copy
        self.assertLess(self.held(), 10_000)
        self.variables.clear()  # now the handles are the last that hold it
        self.handles.sweep()
        self.assertEqual(self.alive(), [id])  # the newest
        self.assertAlmostEqual(self.held() / MIB, 100, delta=1)

    def test_reductions_and_other_steps(self) -> None:
        base = self.handles.keep(numpy.ones((MIB // 8, 4), "u1"), "main")["id"]
        for step in (["reduce", "sum", {"axis": 1}], ["transpose"], ["reshape", [2, -1]], ["head", 3], ["topk", 1], ["astype", "int8"]):
            self.handles.make(base, [step], "main")
        self.handles.release([base], "main")
        values = [self.handles.value(id, "main") for id in self.alive()]
        real = sum({id(v.base if v.base is not None else v): (v.base if v.base is not None else v).nbytes
                    for v in values if isinstance(v, numpy.ndarray)}.values())
        self.assertGreaterEqual(self.held() + 1000, real)
        self.assertLessEqual(self.held(), 8 * MIB)


@unittest.skipIf(torch is None, "without torch")
class Tensors(Base):
    def test_views_and_storages(self) -> None:
        whole = torch.ones(MIB)
        for view in (whole[:4], whole.view(4, -1)[0], whole[::1000], whole.numpy()[:4], {"x": whole[:4]}, torch.nn.Parameter(whole[:4])):
            self.assertAlmostEqual(memory_of(view).total / MIB, 4, delta=0.01, msg=type(view))
        self.assertAlmostEqual(memory_of([whole[:4], whole[4:8], whole.numpy()]).total / MIB, 4, delta=0.01)
        small = self.handles.keep(whole[:4], "main")["id"]
        self.assertEqual(memory_of(self.handles.value(small, "main")).total // 100, 0)
        self.assertEqual(self.handles.value(small, "main").tolist(), [1, 1, 1, 1])
        large = self.handles.keep(whole[: MIB // 2 + 9], "main")["id"]
        self.assertEqual(self.handles.value(large, "main").data_ptr(), whole.data_ptr())
        self.assertAlmostEqual(self.held() / MIB, 4, delta=0.01)

    def test_what_gradients_keep(self) -> None:
        x = torch.ones(MIB, requires_grad=True)
        result = (x * 2).exp().sum()
        self.assertGreater(memory_of(result).total, 7 * MIB)
        id = self.handles.keep(result, "main")["id"]
        self.assertIs(self.handles.value(id, "main"), result)  # not a copy, which would have lost its way back
        result.backward()
        self.assertGreater(memory_of(x).total, 7 * MIB)  # with x.grad

    def test_modules_and_sparse_tensors(self) -> None:
        self.assertAlmostEqual(memory_of(torch.nn.Linear(1024, 1024)).total / MIB, 4, delta=0.1)
        sparse = torch.eye(100_000 // 8).to_sparse()
        self.assertGreater(memory_of(sparse).total, 200_000)
        self.variables["model"] = torch.nn.Linear(1024, 1024)
        self.assertLess(memory_of([self.variables["model"]], {id(self.variables["model"])}).total, 1000)


@unittest.skipIf(pandas is None, "without pandas")
class Frames(Base):
    def test_views_of_frames(self) -> None:
        frame = pandas.DataFrame({"a": numpy.ones(MIB // 2), "b": numpy.ones(MIB // 2)})
        for view in (frame, frame.iloc[:5], frame["a"].iloc[:5], [frame.head(3)]):
            self.assertGreater(memory_of(view).total, 4 * MIB - 1000)
        for step in (["head", 5], ["index", "a"]):
            base = self.handles.keep(pandas.DataFrame({"a": numpy.ones(MIB // 4), "b": numpy.ones(MIB // 4)}), "main")["id"]
            made = self.handles.make(base, [step], "main")["id"]
            self.handles.release([base], "main")
            self.assertLess(self.held(), 2.1 * MIB)
            self.handles.release([made], "main")
        self.assertEqual(self.held(), 0)


@unittest.skipIf(Image is None, "without Pillow")
class Images(Base):
    def test_pixels(self) -> None:
        for mode, wide in (("L", 1), ("RGB", 4), ("F", 4), ("I;16", 4)):
            self.assertAlmostEqual(memory_of([Image.new(mode, (1024, 1024))]).total / MIB, wide, delta=0.1, msg=mode)


del Base

if __name__ == "__main__":
    unittest.main()
