"""Values: the vectors that Go reads too, what comes back of Python's own types, errors with their place, secrets."""

import collections
import dataclasses
import datetime
import decimal
import enum
import math
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from values_cases import available, plain_form, same, vectors  # noqa: E402

from seer_worker import values  # noqa: E402
from seer_worker.interface.scrub import Scrubber  # noqa: E402
from seer_worker.values import decoding, types  # noqa: E402


def sent(value: Any, deflate: bool = False, **options: Any) -> Any:
    """What arrives of a value."""
    encoded = values.encode(value)
    body = b"".join(encoded.body(deflate))
    if not deflate:
        assert len(body) == encoded.size
    return values.decode(values.value_parts(bytearray(body)), encoded.tagged, **options)


class Torch(unittest.TestCase):
    """What the tests of libraries cannot show where torch is installed."""

    def test_one_that_cannot_be_imported_is_said(self) -> None:
        installed = types.installed.__wrapped__  # not what it remembers
        with tempfile.TemporaryDirectory() as folder, patch.dict(sys.modules), patch.object(sys, "path", [folder, *sys.path]):
            sys.modules.pop("torch", None)
            Path(folder, "torch.py").write_text("raise ImportError('libcudart.so.12 is not there')")
            with self.assertWarnsRegex(RuntimeWarning, "torch cannot be imported, so tensors arrive as arrays: libcudart"):
                self.assertIsNone(installed("torch"))
            Path(folder, "numpy_.py").write_text("raise ImportError")
            sys.modules["torch"] = None  # type: ignore[assignment]  # as if it were not installed
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertIsNone(installed("torch"))
                self.assertIsNone(installed("numpy_"))

    def test_without_it_tensors_are_arrays_and_numbers(self) -> None:
        head = b'{"$seer":{"array":{"dtype":"bfloat16","shape":%b,"buffer":1,"lib":"torch","device":"cuda:0"}}}'
        with patch.object(decoding, "installed", lambda name: np if name == "numpy" else None):
            for tensors in (False, True):
                self.assertEqual(repr(values.decode([head % b"[]", bytearray(b"\0\x40")], True, tensors=tensors)), "2.0")
                found = values.decode([head % b"[1]", bytearray(b"\0\x40")], True, tensors=tensors)
                self.assertEqual((type(found), found.tolist()), (np.ndarray, [2.0]))


class Vectors(unittest.TestCase):
    def test_values_without_buffers(self) -> None:
        for v in vectors("values.json")["valid"]:
            with self.subTest(v["name"]):
                value = eval(v["python"])
                self.assertEqual(values.encode(value)[:2], (v["wire"].encode(), v["tagged"]))
                self.assertTrue(same(values.decode(v["wire"].encode(), v["tagged"]), value))
        for v in vectors("values.json")["invalid"]:
            with self.subTest(v["name"]), self.assertRaises(ValueError):
                values.decode(v["wire"].encode(), True)

    def test_bodies(self) -> None:
        for v in vectors("bodies.json")["valid"]:
            with self.subTest(v["name"]):
                decoded = values.decode(values.value_parts(bytearray.fromhex(v["body"])), True)
                self.assertEqual(plain_form(decoded), plain_form(v["plain"]))

    def test_bodies_are_what_encoding_makes(self) -> None:
        done = 0
        for v in vectors("bodies.json")["valid"]:
            if not available(v.get("python")):
                continue
            with self.subTest(v["name"]):
                value = available(v["python"])[0]
                done += 1
                if v["exact"]:
                    self.assertEqual(b"".join(values.encode(value).body()), bytes.fromhex(v["body"]))
                self.assertEqual(plain_form(sent(value)), plain_form(v["plain"]))
        self.assertGreater(done, 40)

    def test_invalid_bodies(self) -> None:
        for v in vectors("bodies.json")["invalid"]:
            body = bytes.fromhex(v["body"])
            with self.subTest(v["name"]), self.assertRaises(ValueError):
                values.decode(values.value_parts(body), True)
            with self.subTest(v["name"] + ", as it comes"), self.assertRaises(ValueError):
                reader = values.BodyReader(len(body))
                reader.feed(body)
                values.decode(reader.parts(), True)

    def test_a_python_with_nothing_installed(self) -> None:
        kept = decoding.installed
        for module in ("decoding", "array", "frames"):
            sys.modules["seer_worker.values." + module].installed = lambda name: None  # type: ignore[attr-defined]
        try:
            for v in vectors("bodies.json")["valid"]:
                with self.subTest(v["name"]):
                    decoded = values.decode(values.value_parts(bytearray.fromhex(v["body"])), True)
                    self.assertEqual(plain_form(decoded), plain_form(v["plain"]))
                    repr(decoded)
                    if "handle" in v["name"]:
                        continue  # as an argument it is its id
                    encoded = values.encode(decoded)
                    again = values.decode([encoded.data, *map(bytearray, encoded.buffers)], encoded.tagged)
                    self.assertEqual(plain_form(again), plain_form(v["plain"]))
            for v in vectors("bodies.json")["invalid"]:
                with self.subTest(v["name"]), self.assertRaises(ValueError):
                    values.decode(values.value_parts(bytes.fromhex(v["body"])), True)
        finally:
            for module in ("decoding", "array", "frames"):
                sys.modules["seer_worker.values." + module].installed = kept  # type: ignore[attr-defined]


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: float


@dataclasses.dataclass
class Box:
    at: Point
    data: bytes


class PythonTypes(unittest.TestCase):
    def test_types_that_become_lists_dicts_and_numbers(self) -> None:
        for value, want in (
            ({3, 1, 2}, [1, 2, 3]),
            (collections.deque([1]), [1]),
            (range(3), [0, 1, 2]),
            ({"a": 1}.keys(), ["a"]),
            (Colour.RED, "red"),
            (Box(Point(1, math.inf), b"x"), {"at": [1, math.inf], "data": b"x"}),
            (collections.OrderedDict(a=1), {"a": 1}),
            ({Colour.RED: 1, 2: 3, None: 4, True: 5, 1.5: 6}, {"red": 1, "2": 3, "null": 4, "true": 5, "1.5": 6}),
            ((1, (2,)), [1, [2]]),
            (bytearray(b"ab"), b"ab"),
            (memoryview(b"abcdef")[::2], b"ace"),
            (frozenset(["a"]), ["a"]),
        ):
            with self.subTest(repr(value)):
                self.assertTrue(same(sent(value), want), sent(value))

    def test_errors_say_where(self) -> None:
        loop: Any = []
        loop.append({"x": loop})
        for value, message in (
            (
                {"a": [1, 2, 3, object()]},
                'result["a"][3] is an object, which cannot be sent; return lists, dicts, strings, numbers, bytes and arrays',
            ),
            ([b"x", {1: iter([])}], "result[1][1] is a list_iterator, which cannot be sent; use list(…)"),
            (loop, 'result[0]["x"] contains itself, which cannot be sent'),
            (1 << 20000, "result is an int of 20001 bits, which is too large to be sent; use hex()"),
            ({"k": {(1, object): 2}}, "which [1] is a type, which cannot be sent"),
            ({"p": Path("x")}, 'result["p"] is a pathlib.PosixPath, which cannot be sent; use str(…)'),
            (Box, "result is a type, which cannot be sent"),
        ):
            with self.subTest(message), self.assertRaises(values.Unserialisable) as caught:
                values.encode(value)
            self.assertIn(message, caught.exception.at("result"))
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with self.assertRaises(values.Unserialisable):
            values.encode(deep)

    def test_secrets_are_found_in_texts_and_bytes(self) -> None:
        scrub = Scrubber([("KEY", 'se"cret\nä'), ("OTHER", "hunter22")])
        for value in (
            'x se"cret\nä',
            {'se"cret\nä': 1},
            ["hunter22", b"\xff hunter22"],
            b'a se"cret\n\xc3\xa4 b',
            {"d": [b"hunter22", math.nan]},
        ):
            with self.subTest(repr(value)):
                encoded = values.encode(value, scrub.text, scrub.escaped)
                body = b"".join(encoded.body())
                for secret in ("hunter22", 'se"cret', "cret\\nä", "cret\nä"):
                    self.assertNotIn(secret.encode(), body)
                self.assertIn(b"[secret ", body)
        self.assertEqual(values.encode(b"\xffplain", scrub.text, scrub.escaped).buffers, (b"\xffplain",))

    def test_bytes_are_not_copied(self) -> None:
        data = bytearray(b"x" * 100_000)
        encoded = values.encode({"data": data})
        data[0:1] = b"y"
        self.assertEqual(bytes(encoded.buffers[0])[:2], b"yx")
        del encoded  # it holds the memory, which could not be resized

    def test_handles(self) -> None:
        class Handle:
            def __init__(self, info: Any) -> None:
                self.info = info

            def __seer_handle__(self) -> Any:
                return self.info

        encoded = values.encode([Handle({"id": "h-1", "stats": {"min": math.nan}})])
        plain = values.decode(encoded.data, True)
        self.assertEqual(plain[0].info["id"], "h-1")
        self.assertTrue(math.isnan(plain[0].info["stats"]["min"]))
        self.assertEqual(values.encode(plain), encoded)
        self.assertEqual(values.decode(encoded.data, True, handle=lambda info: "got " + info["id"]), ["got h-1"])

    def test_small_arrays(self) -> None:
        a = values.Array("int16", (2, 3), bytes([1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 255, 255]))
        self.assertEqual((len(a), a.ndim, a.size, a.nbytes, a.tolist()), (2, 2, 6, 12, [[1, 2, 3], [4, 5, -1]]))
        self.assertEqual((a[1, 2], a[-1][0], a[0].tolist(), a[1:].tolist(), a[0, ::-2].tolist()), (-1, 4, [1, 2, 3], [[4, 5, -1]], [3, 1]))
        self.assertEqual(([r.tolist() for r in a], list(a[0]), a[5:].tolist()), ([[1, 2, 3], [4, 5, -1]], [1, 2, 3], []))
        self.assertEqual(repr(a), "Array(int16, shape=(2, 3), [1, 2, 3, 4, 5, -1])")
        self.assertEqual(values.Array("float64", (), bytes(8)).item(), 0.0)
        for wrong in (2, -3, (0, 3), (0, 0, 0)):
            with self.subTest(wrong), self.assertRaises(IndexError):
                a[wrong]
        with self.assertRaises(ValueError):
            values.Array("int16", (2, 2), bytes(12))

    def test_pydantic_models_and_frames_of_small_types(self) -> None:
        class Model:  # what a model of pydantic looks like from outside
            model_fields: Any = {"a": None}

            def model_dump(self) -> Any:
                return {"a": datetime.date(2026, 1, 31), "b": decimal.Decimal("1.10")}

        self.assertEqual(sent([Model()]), [{"a": datetime.date(2026, 1, 31), "b": decimal.Decimal("1.10")}])
        table = values.DataFrame(["a", "b"], [[1, 2], values.Array("uint8", (2,), b"\3\4")])
        self.assertEqual((len(table), table.shape, table["a"], table.records()), (2, (2, 2), [1, 2], [{"a": 1, "b": 3}, {"a": 2, "b": 4}]))
        with self.assertRaises(ValueError):
            values.decode([b'{"$seer":{"frame":{"columns":["a"],"data":[1]}}}'], True)


if __name__ == "__main__":
    unittest.main()
