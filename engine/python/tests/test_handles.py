"""Handles: what is kept, for whom and how long, what is said of it, and steps on it."""

import io
import itertools
import math
import threading
import unittest
from contextlib import redirect_stderr, suppress
from types import SimpleNamespace
from typing import Any, Callable, Iterator, List
from unittest.mock import Mock, patch

import numpy
from harness import Clock

from seer_worker.handles import steps
from seer_worker.handles.handles import HandleGone, Handles, StepError, size_of
from seer_worker.handles.holdings import Holdings
from seer_worker.process.interrupts import Interrupted
from seer_worker.wiring import Wiring


class Store(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = Clock(100.0)

    def handles(self, **limits: Any) -> Handles:
        return Handles(limits, self.clock)

    def test_nobody_pushes_out_what_others_keep(self) -> None:
        for limits, small in (({"handle_count": 10}, b"x"), ({"handle_bytes": 1000}, b"x" * 90)):
            handles = self.handles(**limits)
            mine = [handles.keep(small, "main")["id"] for _ in range(3)]
            theirs = [handles.keep(small, "t-a")["id"] for _ in range(50)]
            self.assertEqual([h["id"] for h in handles.list("main")], mine)
            self.assertEqual(handles.value(theirs[-1], "t-a"), small)
            large = handles.keep(b"x" * 5000, "t-b")["id"]  # the newest is never the one to go
            self.assertEqual(len(handles.value(large, "t-b")), 5000)

    def gone(self, handles: Handles, id: str, token: str = "main") -> str:
        with self.assertRaises(HandleGone) as caught:
            handles.value(id, token)
        return str(caught.exception)

    def test_the_object_itself(self) -> None:
        handles, value = self.handles(), {"a": object()}
        info = handles.keep(value, "main")
        self.assertIs(handles.value(info["id"], "main"), value)
        self.assertIs(handles.call("$handle.get", [info["id"]], "main"), value)
        self.assertRegex(info["id"], "^h-[0-9a-f]{16}$")

    def test_tokens(self) -> None:
        handles = self.handles()
        one, other = handles.keep([1], "t-1")["id"], handles.keep([2], "t-2")["id"]
        self.assertIn("belongs to another token", self.gone(handles, one, "t-2"))
        self.assertEqual(handles.release([one], "t-2"), 0)
        self.assertEqual([h["id"] for h in handles.list("t-2")], [other])
        self.assertEqual(len(handles.list(None)), 2)
        self.assertEqual(handles.value(one, None), [1])
        made = handles.make(one, [["head", 1]], None)["id"]  # by the runtime, for whom the handle belongs to
        self.assertEqual(handles.value(made, "t-1"), [1])

    def test_release(self) -> None:
        handles = self.handles()
        ids = [handles.keep(n, "main")["id"] for n in range(3)]
        self.assertEqual(handles.call("$handle.release", [ids[0], ids[1], ids[0], "h-unknown"], "main"), 2)
        self.assertIn("it was released", self.gone(handles, ids[0]))
        self.assertIn("the worker that had it has ended", self.gone(handles, "h-unknown"))
        self.assertEqual(handles.value(ids[2], "main"), 2)

    def test_lease(self) -> None:
        handles = self.handles(handle_seconds=10)
        first, second = handles.keep(1, "main")["id"], handles.keep(2, "main")["id"]
        self.clock.time += 9
        handles.value(first, "main")
        self.clock.time += 9
        self.assertEqual(handles.value(first, "main"), 1)
        self.assertIn("it was not used for 10 s", self.gone(handles, second))

    def test_an_interrupt_in_the_middle_of_a_change(self) -> None:
        """What is held stays counted, and what has gone does not."""
        changes: List[Callable[[Handles, str], Any]] = [
            lambda handles, id: handles.keep("y" * 200_000, "main"), lambda handles, id: handles.release([id], "main"),
            lambda handles, id: handles.sweep()]
        count, interrupted = Holdings._count, Mock()
        for change, moment in itertools.product(changes, range(1, 5)):
            left = iter(range(moment - 1, -100, -1))

            def counted(holdings: Holdings, token: str, size: int, left: Iterator[int] = left) -> None:
                if not next(left):
                    interrupted()
                    raise Interrupted
                count(holdings, token, size)

            handles = self.handles(handle_seconds=10)
            id = handles.keep("x" * 200_000, "main")["id"]
            handles.value(id, "main")  # so that it is measured again
            with self.subTest(change=changes.index(change), moment=moment):
                with patch.object(Holdings, "_count", counted), suppress(Interrupted):
                    change(handles, id)
                self.clock.time += 11
                handles.sweep()
                self.assertEqual((handles.list(None), handles._holdings.total, handles._holdings.of), ([], 0, {}))
        self.assertGreaterEqual(interrupted.call_count, 8)

    def test_a_fault_while_sweeping_ends_nothing(self) -> None:
        journal, handles = Mock(**{"sweep.side_effect": KeyError("one")}), Mock(**{"sweep.side_effect": KeyError("two")})
        with redirect_stderr(io.StringIO()) as said:
            Wiring._sweep(SimpleNamespace(journal=journal, _handles=handles))  # type: ignore[arg-type]
        self.assertRegex(said.getvalue(), "KeyError: 'one'\n.*KeyError: 'two'\n")

    def test_count(self) -> None:
        handles = self.handles(handle_count=2)
        ids = [handles.keep(n, "main")["id"] for n in range(2)]
        handles.value(ids[0], "main")
        handles.keep(2, "main")
        self.assertEqual(handles.value(ids[0], "main"), 0)
        self.assertIn("more than 2", self.gone(handles, ids[1]))

    def test_bytes(self) -> None:
        handles = self.handles(handle_bytes=3 << 20)
        ids = [handles.keep(numpy.zeros(1 << 20, "u1"), "main")["id"] for _ in range(4)]
        self.assertIn("more than 3 MiB", self.gone(handles, ids[0]))
        large = handles.keep(numpy.zeros(9 << 20, "u1"), "main")["id"]  # on its own it may be larger
        self.assertEqual([h["id"] for h in handles.list("main")], [large])

    def test_it_is_really_freed(self) -> None:
        handles, freed = self.handles(), []

        class Value:
            def __del__(self) -> None:
                freed.append(handles.list("main"))  # may call back

        id = handles.keep(Value(), "main")["id"]
        handles.release([id], "main")
        self.assertEqual(freed, [[]])

    def test_wrong_arguments(self) -> None:
        handles = self.handles()
        id = handles.keep([1], "main")["id"]
        for function, args in (("$handle.get", []), ("$handle.get", [1]), ("$handle.info", [id, 1]), ("$handle.release", [1]),
                               ("$handle.list", [1]), ("$handle.get", [id, "head"]), ("$handle.get", [id, ["nothing"]]),
                               ("$handle.get", [id, []])):
            with self.assertRaises(StepError, msg=(function, args)):
                handles.call(function, args, "main")

    def test_threads(self) -> None:
        handles, faults = self.handles(handle_count=20), []

        def work() -> None:
            try:
                for n in range(300):
                    id = handles.keep([n], "main")["id"]
                    try:
                        if handles.get(id, [["index", 0]], "main") != n:
                            faults.append("wrong value")
                    except HandleGone:
                        pass
                    handles.list("main")
                    handles.release([id], "main")
            except Exception as e:
                faults.append(e)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.assertEqual(handles.list(None), [])


class Facts(unittest.TestCase):
    def info(self, value: Any) -> Any:
        handles = Handles()
        info = handles.keep(value, "main")
        self.assertEqual(handles.call("$handle.info", [info["id"]], "main").__seer_handle__(), info)
        return info

    def test_an_array(self) -> None:
        info = self.info(numpy.array([[1.0, math.nan], [3.0, 5.0]], "f4"))
        self.assertEqual([info[k] for k in ("kind", "type", "shape", "dtype", "bytes")], ["array", "numpy.ndarray", [2, 2], "float32", 16])
        self.assertEqual({k: round(v, 6) for k, v in info["stats"].items()}, {"min": 1, "max": 5, "mean": 3, "std": 1.632993, "nan": 1})
        self.assertIn("nan", info["preview"])

    def test_stats_of_every_dtype(self) -> None:
        values = numpy.arange(12) % 5
        for dtype in ("bool", "int8", "uint64", "float16", "float64", ">f4", "longdouble"):
            array = values.astype(dtype).reshape(3, 4)[:, ::2]  # not in one piece
            stats = self.info(array)["stats"]
            wide = array.astype("f8")
            for name in ("min", "max", "mean", "std"):
                self.assertAlmostEqual(stats[name], getattr(wide, name)(), msg=(dtype, name))
        for dtype in ("complex64", "datetime64[s]", "timedelta64[ms]", "U3", "S3", "O"):
            self.assertNotIn("stats", self.info(values.astype(dtype)), dtype)
        self.assertEqual(self.info(numpy.zeros((0, 3)))["stats"], {"nan": 0})
        self.assertEqual(self.info(numpy.full(3, numpy.nan))["stats"], {"nan": 3})
        self.assertEqual(self.info(numpy.array([1, numpy.inf]))["stats"], {"min": 1, "nan": 0})  # JSON has no infinity
        self.assertEqual(self.info(numpy.array(7))["stats"]["mean"], 7)

    def test_stats_of_many_pieces_need_no_copy(self) -> None:
        array = numpy.lib.stride_tricks.as_strided(numpy.arange(8, dtype="f8"), (8, 1 << 20), (8, 0))  # 64 MiB that are not there
        stats = self.info(array)["stats"]
        self.assertAlmostEqual(stats["mean"], 3.5)
        self.assertAlmostEqual(stats["std"], numpy.arange(8).std())
        huge = numpy.broadcast_to(numpy.float64(1), (1 << 40,))
        info = Handles({"handle_bytes": 1 << 60}).keep(huge, "main")  # told at once: eight terabytes
        self.assertEqual((info["bytes"], "stats" in info), (8 << 40, False))

    def test_other_values(self) -> None:
        self.assertEqual(self.info([1, "a"])["preview"], "[1, 'a']")
        self.assertEqual({k: self.info(b"abc" * 100)[k] for k in ("kind", "bytes", "len")}, {"kind": "bytes", "bytes": 300, "len": 300})
        self.assertLess(len(self.info(["x" * 1000] * 1000)["preview"]), 2200)
        self.assertLess(len(self.info("y" * 5000)["preview"]), 1100)

        class Broken:
            def __repr__(self) -> str:
                raise RuntimeError

        self.assertIn("preview", self.info(Broken()))

    def test_sizes(self) -> None:
        self.assertEqual(size_of(numpy.zeros((10, 10), "f4")), 400)
        self.assertEqual(size_of({"a": numpy.zeros(1000)}) // 1000, 8)
        self.assertAlmostEqual(size_of(list(range(1_000_000))) / 6_900_000, 1, delta=0.3)
        self.assertEqual(size_of("a" * 100), 102)
        self.assertGreaterEqual(size_of([b"x" * 100] * 1000, 500), 500)
        endless: List[Any] = []
        endless.append(endless)
        self.assertGreater(size_of(endless), 0)


class Steps(unittest.TestCase):
    array = numpy.arange(24.0).reshape(2, 3, 4)

    def same(self, wanted: Any, value: Any, *given: Any) -> None:
        got = steps.apply(value, given)
        numpy.testing.assert_array_equal(got, wanted)

    def test_index(self) -> None:
        a = self.array
        for key, wanted in ((1, a[1]), (-1, a[-1]), ({"slice": [0, None, 2]}, a[::2]), ({"slice": [1]}, a[:1]), ("...", a), (None, a[None]),
                            ([1, 0, 1], a[[1, 0, 1]]), ([True, False], a[[True, False]]), ([], a[[]]),
                            ({"at": [0, {"slice": [1, 3]}, [0, 2]]}, a[0, 1:3, [0, 2]]), ({"at": ["...", 0]}, a[..., 0]),
                            ({"at": [{"slice": [None, None, -1]}, None, 1]}, a[::-1, None, 1])):
            self.same(wanted, a, ["index", key])
        self.assertIs(steps.apply(a, [["index", 0]]).base is not None, True)  # a view

    def test_reduce(self) -> None:
        a = self.array
        for name in ("sum", "mean", "std", "var", "min", "max", "argmin", "argmax", "any", "all", "median"):
            self.same(getattr(numpy, name)(a), a, ["reduce", name])
            self.same(getattr(numpy, name)(a, axis=1), a, ["reduce", name, {"axis": 1}])
            self.same(getattr(numpy, name)(a, axis=-1, keepdims=True), a, ["reduce", name, {"axis": -1, "keepdims": True}])
        self.same(numpy.linalg.norm(a), a, ["reduce", "norm", {}])
        numpy.testing.assert_allclose(steps.apply(a, [["reduce", "norm", {"axis": [0, 2]}]]), numpy.sqrt((a * a).sum(axis=(0, 2))))
        self.assertEqual(float(steps.apply(numpy.full(10_000, 100, "f2"), [["reduce", "sum"]])), 1_000_000)
        self.assertAlmostEqual(float(steps.apply(numpy.array([3 + 4j]), [["reduce", "norm"]])), 5)

    def test_others(self) -> None:
        a = self.array
        self.same(a.astype("i4"), a, ["astype", "int32"])
        self.same(a.reshape(6, -1), a, ["reshape", [6, -1]])
        self.same(a.transpose(2, 0, 1), a, ["transpose", [2, 0, 1]])
        self.same(a.T, a, ["transpose"])
        self.same(a[:1], a, ["head", 1])

    def test_topk(self) -> None:
        for shape in ((50,), (3, 50), (2, 2, 5)):
            a = numpy.random.default_rng(1).permutation(int(numpy.prod(shape))).reshape(shape)
            for n in (0, 1, 4, 100):
                values, indices = steps.apply(a, [["topk", n]])
                numpy.testing.assert_array_equal(values, numpy.sort(a, axis=-1)[..., ::-1][..., :n])
                numpy.testing.assert_array_equal(numpy.take_along_axis(a, indices, -1), values)

    def test_plain_values(self) -> None:
        value = {"rows": [{"a": 1}, {"a": 2}], "n": [3, 1, 2], "...": 0}
        for wanted, given in ((2, [["index", {"at": ["rows", 1, "a"]}]]), ([3, 2], [["index", "n"], ["index", [0, 2]]]),
                              (0, [["index", "..."]]),
                              ([1], [["index", "n"], ["index", [False, True, False]]]), ([3, 1], [["index", "n"], ["head", 2]]),
                              ([1, 2], [["index", "n"], ["index", {"slice": [1, None]}]]), (6, [["index", "n"], ["reduce", "sum"]]),
                              (2, [["index", "n"], ["reduce", "median"]]), (1, [["index", "n"], ["reduce", "argmin"]]),
                              ([[3, 2], [0, 2]], [["index", "n"], ["topk", 2]]), ({"n": [3, 1, 2]}, [["index", ["n"]]])):
            self.assertEqual(steps.apply(value, given), wanted, given)
        self.assertEqual(steps.apply("text", [["index", {"slice": [1, 3]}]]), "ex")
        self.assertEqual(steps.apply(b"text", [["head", 2]]), b"te")

    def test_steps_do_not_fill_the_memory(self) -> None:
        array, row = numpy.zeros((1000, 1000)), numpy.zeros((1, 1_000_000))
        many = [0] * 100_000
        for value, given in ((array, [["index", many]]), (row, [["index", [0] * 100]]), (array, [["astype", "str1000000"]]),
                             (array, [["index", {"at": ["...", many]}]]), (array, [["index", {"at": [None, many]}]]),
                             ([0] * 1000, [["index", [0] * 1_000_000]] + [["index", list(range(1000)) * 100_000]]),
                             (array, [["astype", "U1000000"]]), (array, [["astype", "V100000000"]]), (array, [["astype", "O"]])):
            with self.assertRaises(StepError, msg=str(given)[:80]):
                steps.apply(value, given)
        self.assertEqual(steps.apply(row, [["index", {"at": [[0], list(range(1000))]}]]).shape, (1000,))
        self.assertEqual(steps.apply(array, [["index", [1] * 5000]]).shape, (5000, 1000))
        self.assertEqual(steps.apply(numpy.arange(3), [["astype", "str"]]).tolist(), ["0", "1", "2"])
        self.assertEqual(steps.apply(numpy.arange(3), [["astype", "str5"]]).dtype, "U5")

    def test_refusals_say_which_step(self) -> None:
        for value, step, text in ((self.array, ["index", 9], "IndexError"), (self.array, ["index", {"slice": ["a"]}], "a key is"),
                                  (self.array, ["index", {"x": 1}], "a key is"), (self.array, ["index", 1.5], "a key is"),
                                  (self.array, ["reshape", [7]], "ValueError"), (self.array, ["reduce", "eval"], "it takes one of"),
                                  (self.array, ["reduce", "sum", {"out": 1}], "axis and keepdims"),
                                  (self.array, ["reduce", "sum", {"axis": "0"}], "axis"),
                                  (self.array, ["astype", "nonsense"], "dtype"), (self.array, ["head", -1], "whole number"),
                                  ({"a": 1}, ["index", "b"], "there is no key 'b'; there are 'a'"), ([1], ["reshape", [1]], "has no shape"),
                                  (object(), ["index", 0], "no such item"), ([1], ["index", "a"], "no such item")):
            with self.assertRaises(StepError) as caught:
                steps.apply([value], [["index", 0], step])
            self.assertIn("step 2, %s: " % step[0], str(caught.exception))
            self.assertIn(text, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
