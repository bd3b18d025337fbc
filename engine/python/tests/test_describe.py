"""The description of an interface: what sdk.Interface says, from real modules."""

import json
import os
import sys
import unittest
from typing import Any, Dict
from unittest import mock

from loading import function_of, interface_of

from seer_worker.interface.describe import describe
from seer_worker.interface.scrub import Scrubber

CODE = '''
"""Tools for
a model."""
from __future__ import annotations
import dataclasses, enum, functools, os, typing
from typing import Any, Dict, List, Literal, NewType, Optional, Tuple, TYPE_CHECKING, Union
if TYPE_CHECKING:
    import torch

class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"

class Options(typing.TypedDict, total=False):
    depth: int
    inner: Options

@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    tags: List[str] = dataclasses.field(default_factory=list)

Layer = NewType("Layer", int)
KEY = os.environ["API_KEY"]

@expose
def everything(
    a: int, /, b: "str", c: List[float] = [1.0], *rest: int, d: Mode = Mode.FAST, e: Optional[int] = None, **more: str
) -> Dict[str, Any]:
    """Does everything.

    Args:
        a: The first,
            over two lines.
        c (list): Some numbers.
        **more: Other things.

    Returns:
        A dict.
    """

@expose()
async def later(x: Literal["a", "b"], y: Point, z: Options) -> None:
    """:param x: One of two."""

@expose
def unresolved(t: torch.Tensor, n: int, default=object(), nan=float("nan")) -> torch.Tensor: pass

@expose
def bare(x, y="it's"): pass

@expose
def secretive(key=KEY): pass

def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper

@expose
@logged
def wrapped(n: Tuple[int, str], m: Tuple[int, ...] = (1, 2), s: Union[int, str] = 1, f: Layer = 3) -> List[Point]:
    """Wrapped."""

@expose
@functools.lru_cache(maxsize=None)
def cached(n: int) -> float: return n / 2

def made(k):
    @expose
    def factory(value: bool) -> bool:
        return value
    return factory
made(1)

def _private(): pass
'''


class Description(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with mock.patch.dict(os.environ, {"API_KEY": "hunter2-hunter2"}):
            loaded = interface_of(CODE)
        cls.interface = json.loads(json.dumps(Scrubber([("API_KEY", "hunter2-hunter2")]).tree(describe(loaded))))
        cls.calls = [loaded.registry.functions[name](*loaded.binders[name].bind(args, {})[0])
                     for name, args in (("cached", [3]), ("wrapped", [[1, "a"]]))]
        cls.functions: Dict[str, Any] = {f["name"]: f for f in cls.interface["functions"]}

    def params(self, name):
        return {p["name"]: p for p in self.functions[name]["params"]}

    def test_module(self):
        self.assertEqual(self.interface["module"], "interface")
        self.assertEqual(self.interface["doc"], "Tools for\na model.")
        self.assertRegex(self.interface["code_hash"], "^sha256:[0-9a-f]{64}$")
        self.assertEqual(list(self.functions), ["everything", "later", "unresolved", "bare", "secretive", "wrapped", "cached", "factory"])
        self.assertEqual(self.calls, [1.5, None])

    def test_kinds_and_annotations(self):
        self.assertEqual([(p["name"], p["kind"], p.get("annotation")) for p in self.functions["everything"]["params"]], [
            ("a", "positional_only", "int"), ("b", "positional_or_keyword", "str"), ("c", "positional_or_keyword", "List[float]"),
            ("rest", "var_positional", "int"), ("d", "keyword_only", "Mode"), ("e", "keyword_only", "Optional[int]"),
            ("more", "var_keyword", "str")])
        self.assertEqual(self.functions["everything"]["returns"], "Dict[str, Any]")

    def test_defaults(self):
        p = self.params("everything")
        self.assertNotIn("has_default", p["a"])
        self.assertEqual((p["c"]["default"], p["c"]["default_repr"]), ([1.0], "[1.0]"))
        self.assertNotIn("default", p["d"])
        self.assertEqual((p["d"]["has_default"], p["d"]["default_repr"]), (True, "Mode.FAST"))
        self.assertEqual((p["e"]["default"], p["e"]["default_repr"]), (None, "None"))
        self.assertEqual(self.params("bare")["y"]["default_repr"], '"it\'s"')
        self.assertNotIn("default", self.params("unresolved")["nan"])
        self.assertEqual(self.params("wrapped")["m"]["default_repr"], "(1, 2)")

    def test_docs(self):
        self.assertTrue(self.functions["everything"]["doc"].startswith("Does everything.\n\nArgs:\n    a: The first"))
        docs = {n: p.get("doc") for n, p in self.params("everything").items()}
        self.assertEqual([docs["a"], docs["c"], docs["more"]], ["The first, over two lines.", "Some numbers.", "Other things."])
        self.assertIsNone(docs["b"])
        self.assertEqual(self.params("later")["x"]["doc"], "One of two.")

    def test_lines_and_async(self):
        lines = CODE.splitlines()
        for name, f in self.functions.items():
            self.assertIn("def %s(" % name, lines[f["line"] - 1])
            self.assertEqual(f.get("async", False), name == "later")

    def test_input_schema(self):
        schema = self.functions["everything"]["input_schema"]
        self.assertEqual(schema["type"], "object")
        self.assertEqual(schema["required"], ["a", "b"])
        self.assertEqual(schema["additionalProperties"], {"type": "string"})
        self.assertEqual(list(schema["properties"]), ["a", "b", "c", "rest", "d", "e", "more"])
        self.assertEqual(schema["properties"]["a"], {"type": "integer", "description": "The first, over two lines."})
        self.assertEqual(schema["properties"]["rest"], {"type": "array", "items": {"type": "integer"}})
        self.assertEqual(schema["properties"]["d"], {"type": "string", "enum": ["fast", "slow"]})
        self.assertEqual(schema["properties"]["e"], {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None})
        self.assertIs(self.functions["bare"]["input_schema"]["additionalProperties"], False)

    def test_schemas_of_classes(self):
        p = self.params("later")
        self.assertEqual(p["x"]["schema"], {"type": "string", "enum": ["a", "b"], "description": "One of two."})
        point = {"type": "object", "required": ["x"], "additionalProperties": False, "properties": {
            "x": {"type": "integer"}, "y": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}}}
        self.assertEqual(p["y"]["schema"], point)
        options = {"type": "object", "properties": {"depth": {"type": "integer"}, "inner": {"$ref": "#/$defs/Options"}}}
        self.assertEqual(p["z"]["schema"], {"$ref": "#/$defs/Options", "$defs": {"Options": options}})
        whole = self.functions["later"]["input_schema"]
        self.assertEqual((whole["properties"]["z"], whole["$defs"]), ({"$ref": "#/$defs/Options"}, {"Options": options}))
        self.assertEqual(self.functions["later"]["output_schema"], {"type": "null"})
        self.assertEqual(self.functions["wrapped"]["output_schema"], {"type": "array", "items": point})
        self.assertEqual(self.params("wrapped")["n"]["schema"], {
            "type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2})
        self.assertEqual(self.params("wrapped")["m"]["schema"], {"type": "array", "items": {"type": "integer"}})
        self.assertEqual(self.params("wrapped")["f"]["schema"], {"type": "integer", "default": 3})
        self.assertEqual(self.functions["everything"]["output_schema"], {"type": "object", "description": "A dict."})

    def test_an_annotation_that_does_not_resolve_spoils_no_other(self):
        p = self.params("unresolved")
        self.assertEqual((p["t"]["annotation"], p["t"].get("schema")), ("torch.Tensor", None))
        self.assertEqual(p["n"]["schema"], {"type": "integer"})
        self.assertEqual(self.functions["unresolved"]["returns"], "torch.Tensor")
        self.assertNotIn("output_schema", self.functions["unresolved"])

    def test_a_secret_as_default(self):
        self.assertEqual(self.params("secretive")["key"]["default"], "[secret API_KEY]")
        self.assertNotIn("hunter2", str(self.interface))

    @unittest.skipIf(sys.version_info < (3, 10), "the syntax is that of 3.10")
    def test_new_unions(self):
        f = function_of("@expose\ndef f(a: int | None, b: list[dict[str, float]], c: set[int] = frozenset()) -> str | None: pass\n")
        schemas = [p["schema"] for p in f["params"]]
        self.assertEqual(schemas, [
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}},
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}])
        self.assertEqual(f["output_schema"], {"anyOf": [{"type": "string"}, {"type": "null"}]})

    def test_annotations_that_are_no_types(self):
        interface = interface_of("""
            class Odd:
                def __eq__(self, other): raise RuntimeError("odd")
                __hash__ = None
            @expose
            def f(a: 3, b: "1 +", c: Odd(), d: "x y z", e: [int], g: print, h: {1: 2}) -> ...: pass
            @expose
            def multiline(a: dict[
                str,
                int,
            ] if False else int): pass
        """)
        f, multiline = describe(interface)["functions"]
        self.assertEqual([p["annotation"] for p in f["params"]], ["3", "1 +", "Odd()", "x y z", "[int]", "print", "{1: 2}"])
        self.assertNotIn("\n", multiline["params"][0]["annotation"])


if __name__ == "__main__":
    unittest.main()
