"""Schemas of larger things: types of packages, shapes in comments, streams, defaults, docstrings."""

import base64
import importlib.util
import io
import json
import unittest

import jsonschema
from loading import function_of, interface_of

from seer_worker.interface.describe import describe
from seer_worker.interface.docs import docs_of
from seer_worker.schema.validate import BadArguments

HANDLE = {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]}


def installed(*names):
    return all(importlib.util.find_spec(n) for n in names)


class Shapes(unittest.TestCase):
    def texts(self, code):
        f = function_of("import numpy as np\nimport numpy.typing as npt\nfrom typing import *\n" + code)
        params = {p["name"]: p["schema"]["anyOf"][0]["description"] for p in f["params"] if "anyOf" in p.get("schema", {})}
        return params, f.get("output_schema", {}).get("anyOf", [{}])[0].get("description")

    def test_of_comments(self):
        params, result = self.texts('''
@expose
def f(
    tokens: npt.NDArray[np.int64],  # (batch, seq) token ids
    mask: Optional[np.ndarray] = None,  # [batch,  seq]
    scale: float = 1.0,  # (not, an, array)
    plain: np.ndarray = None,
) -> np.ndarray:  # (batch, seq, vocab)
    pass
''')
        self.assertEqual(params, {"tokens": "array of int64, shape (batch, seq)", "mask": "array, shape (batch, seq)", "plain": "array"})
        self.assertEqual(result, "array, shape (batch, seq, vocab)")

    def test_on_one_line_it_belongs_to_the_result(self):
        params, result = self.texts("@expose\ndef f(a: np.ndarray, b: int = 3) -> np.ndarray:  # (n,)\n    pass\n")
        self.assertEqual((params, result), ({"a": "array"}, "array, shape (n,)"))

    def test_other_comments_stay_private(self):
        f = function_of("@expose\ndef f(a: int,  # the trap\n      b: int):  # (1, 2)\n    pass\n")
        self.assertNotIn("trap", json.dumps(f))
        self.assertEqual(f["params"][1]["schema"], {"type": "integer"})

    def test_annotated(self):
        params, _ = self.texts('''
try:
    from typing import Annotated
except ImportError:
    from typing_extensions import Annotated
@expose
def f(a: Annotated[np.ndarray, "batch seq"], b: "Annotated[Optional[npt.NDArray[np.float32]], 'over time']"): pass
''')
        self.assertEqual(params, {"a": "array, shape batch seq", "b": "array of float32"})


class Jaxtyping(unittest.TestCase):
    """jaxtyping's classes tell what they want by attributes, and test a value by isinstance."""

    CODE = '''
import numpy as np
class _Meta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, np.ndarray) and value.ndim == 2 and str(value.dtype) in cls.dtypes
class Float32(metaclass=_Meta):
    array_type, dim_str, dtypes = np.ndarray, "batch seq", ["float32"]
@expose
def f(a: Float32): pass
'''

    def test_it(self):
        interface = interface_of(self.CODE)
        bind = interface.binders["f"].bind
        self.assertEqual(bind([[[1, 2]]], {})[0][0].dtype, "float32")
        with self.assertRaisesRegex(BadArguments, r"f: a must be Float32\[ndarray, batch seq\], and is a ndarray of float32, shape \(2,\)"):
            bind([[1, 2]], {})
        schema = describe(interface)["functions"][0]["params"][0]["schema"]
        self.assertEqual(schema["anyOf"][0]["description"], "array of float32, shape (batch seq)")


class Results(unittest.TestCase):
    def test_streams_are_of_items(self):
        for annotation, is_async in (("Iterator[str]", False), ("Generator[str, None, int]", False), ("Iterable[str]", False),
                                     ("AsyncIterator[str]", True), ("AsyncGenerator[str, None]", True)):
            with self.subTest(annotation):
                start = "async " if is_async else ""
                f = function_of("from typing import *\n@expose\n%sdef f() -> %s:\n    yield 'a'\n" % (start, annotation))
                self.assertEqual((f["stream"], f.get("async", False)), (True, is_async))
                self.assertEqual((f["output_schema"], f["returns"]), ({"type": "string"}, annotation))

    def test_awaitables(self):
        f = function_of("from typing import *\n@expose\ndef f() -> Awaitable[int]: pass\n")
        self.assertEqual(f["output_schema"], {"type": "integer"})

    def test_what_they_are(self):
        f = function_of('@expose\ndef f() -> int:\n    """Counts.\n\n    Returns:\n        int: How many there are.\n    """\n')
        self.assertEqual(f["output_schema"], {"type": "integer", "description": "How many there are."})


class Parameters(unittest.TestCase):
    def test_unpacked_keywords(self):
        code = '''
from typing import *
try:
    from typing import Unpack
except ImportError:
    from typing_extensions import Unpack
class Extra(TypedDict, total=False):
    depth: int
@expose
def f(a: int, **more: Unpack[Extra]): pass
'''
        interface = interface_of(code)
        bind = interface.binders["f"].bind
        self.assertEqual(bind([1], {"depth": 2.0}), ([1], {"depth": 2}))
        with self.assertRaisesRegex(BadArguments, r'f: more\["depth"\] must be an int'):
            bind([1], {"depth": "x"})
        self.assertEqual(describe(interface)["functions"][0]["params"][1]["schema"],
                         {"type": "object", "properties": {"depth": {"type": "integer"}}})

    def test_defaults_that_are_not_json(self):
        f = function_of('''
import numpy as np, pathlib
@expose
def f(a=(1, 2), b={1}, c=np.zeros(2), d=pathlib.PurePosixPath("x"), e=float("nan"), g=b"x", h={1: 2}, i=object,
      j={"a": [1, None]}): pass
''')
        self.assertEqual([p["name"] for p in f["params"] if "default" in p], ["j"])
        self.assertTrue(all(p["has_default"] and p["default_repr"] for p in f["params"]))
        self.assertEqual(json.loads(json.dumps(f["input_schema"]))["properties"]["j"], {"default": {"a": [1, None]}})

    def test_two_types_of_one_name(self):
        code = '''
import dataclasses
from typing import *
def make(kind):
    @dataclasses.dataclass
    class Node:
        value: kind
        next: "Optional[Node]" = None
    Node.__annotations__["next"] = Optional[Node]
    return Node
A, B = make(int), make(str)
@expose
def f(a: A, b: B): pass
'''
        schema = function_of(code)["input_schema"]
        self.assertEqual(len(schema["$defs"]), 2)
        valid = jsonschema.Draft202012Validator(schema).is_valid
        self.assertTrue(valid({"a": {"value": 1, "next": {"value": 2}}, "b": {"value": "x", "next": {"value": "y"}}}))
        self.assertFalse(valid({"a": {"value": 1, "next": {"value": "y"}}, "b": {"value": "x"}}))

    def test_aliases_that_contain_themselves(self):
        code = 'from typing import *\nJson = Union[int, List["Json"]]\n@expose\ndef f(a: Json, b: "Json"): pass\n'
        schema = function_of(code)["input_schema"]
        valid = jsonschema.Draft202012Validator(schema).is_valid
        self.assertTrue(valid({"a": [1, [2, []]], "b": 1}))
        self.assertFalse(valid({"a": [1, ["x"]], "b": 1}))


GOOGLE = """Does it.

Args:
    first (int, optional): The first: with a colon
        and a second line.
    *rest: What is left.
    bare (dict(str, int)):
        On the next line.

    after_a_gap: Still there.

Returns:
    dict: What came out
    of it.

Raises:
    ValueError: never.
"""
NUMPY = """Does it.

Parameters
----------
first : int, optional
    The first: with a colon
    and a second line.
*rest
    What is left.
x, y : float
    Both.

Returns
-------
out : dict
    What came out
    of it.

Notes
-----
first : not this one
"""
SPHINX = """Does it.

:param first: The first: with a colon
    and a second line.
:param dict(str, int) bare: With a type.
:type first: int
:param *rest: What is left.
:returns: What came out
    of it.
:rtype: dict
:raises ValueError: never.
"""


class Docstrings(unittest.TestCase):
    def test_google(self):
        docs = docs_of(GOOGLE)
        self.assertEqual(docs.params, {"first": "The first: with a colon and a second line.", "rest": "What is left.",
                                       "bare": "On the next line.", "after_a_gap": "Still there."})
        self.assertEqual(docs.returns, "What came out of it.")

    def test_numpy(self):
        docs = docs_of(NUMPY)
        self.assertEqual(docs.params, {"first": "The first: with a colon and a second line.", "rest": "What is left.",
                                       "x": "Both.", "y": "Both."})
        self.assertEqual(docs.returns, "What came out of it.")

    def test_sphinx(self):
        docs = docs_of(SPHINX)
        self.assertEqual(docs.params, {"first": "The first: with a colon and a second line.", "bare": "With a type.",
                                       "rest": "What is left."})
        self.assertEqual(docs.returns, "What came out of it.")

    def test_the_text_stays(self):
        f = function_of("@expose\ndef f(first):\n    %r\n" % GOOGLE)
        self.assertEqual(f["doc"], GOOGLE.strip())

    def test_no_docs(self):
        for doc in ("", "One line.", "Args:", "Returns:", ":param", "Parameters\n----------", "Args:\n\n\nReturns:\n",
                    "Note: this\n  and: that"):
            self.assertEqual(docs_of(doc), ({}, ""), doc)


class Pydantic(unittest.TestCase):
    CODE = '''
from typing import *
import pydantic
class Inner(pydantic.BaseModel):
    n: int = pydantic.Field(gt=0)
class Outer(pydantic.BaseModel):
    inners: List[Inner]
    name: str = "x"
@expose
def f(a: Outer, b: Optional[Inner] = None) -> Outer: pass
'''

    @classmethod
    def setUpClass(cls):
        cls.interface = interface_of(cls.CODE)
        cls.function = describe(cls.interface)["functions"][0]

    def test_models_are_made(self):
        outer, inner = self.interface.binders["f"].bind([{"inners": [{"n": 1}]}, {"n": "2"}], {})[0]
        self.assertEqual((type(outer).__name__, outer.inners[0].n, outer.name, inner.n), ("Outer", 1, "x", 2))
        place = r'f: a must be a dict with the fields of Outer, and is a dict: \["inners"\]\[0\]\["n"\] .*greater than 0'
        with self.assertRaisesRegex(BadArguments, place):
            self.interface.binders["f"].bind([{"inners": [{"n": 0}]}], {})

    def test_their_schema(self):
        validator = jsonschema.Draft202012Validator(self.function["input_schema"])
        jsonschema.Draft202012Validator.check_schema(self.function["input_schema"])
        self.assertTrue(validator.is_valid({"a": {"inners": [{"n": 1}]}, "b": {"n": 1}}))
        self.assertFalse(validator.is_valid({"a": {"inners": [{"n": 0}]}}))
        self.assertFalse(validator.is_valid({"a": {"inners": [{"n": 1}]}, "b": {"n": "x"}}))
        self.assertTrue(jsonschema.Draft202012Validator(self.function["output_schema"]).is_valid({"inners": []}))


if installed("torch"):  # it is large, and the only thing here that make test does not install
    class Tensors(unittest.TestCase):
        def test_they_are_made(self):
            import numpy as np
            import torch
            interface = interface_of("import torch\nfrom typing import *\n@expose\n"
                                     "def f(a: torch.Tensor, b: Optional[torch.Tensor] = None,\n"
                                     "      c: torch.LongTensor = None) -> torch.Tensor:  # (n,)\n    pass\n")
            binder = interface.binders["f"]
            self.assertTrue(binder.tensors)
            tensor = torch.ones(2, dtype=torch.bfloat16)
            self.assertIs(binder.bind([tensor], {})[0][0], tensor)
            a, b, c = binder.bind([np.ones((2, 3), np.float32)[:, ::-1], [1, 2], [1]], {})[0]
            self.assertEqual((a.dtype, a.shape, b.dtype, c.dtype), (torch.float32, (2, 3), torch.int64, torch.int64))
            with self.assertRaisesRegex(BadArguments, "f: a must be a tensor, and is \"x\""):
                binder.bind(["x"], {})
            f = describe(interface)["functions"][0]
            self.assertEqual(f["output_schema"]["anyOf"][0]["description"], "tensor, shape (n,)")
            self.assertEqual(f["params"][0]["schema"]["anyOf"][1], HANDLE)


if installed("PIL", "pandas"):
    class Media(unittest.TestCase):
        def test_images(self):
            import numpy as np
            from PIL import Image
            interface = interface_of("from PIL import Image\nimport PIL.Image\n@expose\ndef f(a: Image.Image, b: PIL.Image = None): pass\n")
            bind = interface.binders["f"].bind
            image = Image.new("RGB", (3, 2))
            self.assertIs(bind([image], {})[0][0], image)
            file = io.BytesIO()
            image.save(file, "png")
            for given in (file.getvalue(), base64.b64encode(file.getvalue()).decode(), np.zeros((2, 3, 3), np.uint8)):
                self.assertEqual(bind([given, given], {})[0][1].size, (3, 2))
            with self.assertRaisesRegex(BadArguments, "f: a must be an image"):
                bind([b"no image"], {})
            schema = describe(interface)["functions"][0]["params"][0]["schema"]
            self.assertEqual(schema["anyOf"], [{"type": "string", "contentEncoding": "base64", "contentMediaType": "image/*"}, HANDLE])

        def test_frames(self):
            interface = interface_of("import pandas as pd\n@expose\ndef f(a: pd.DataFrame, b: pd.Series = None): pass\n")
            bind = interface.binders["f"].bind
            for given in ([{"x": 1}, {"x": 2}], {"x": [1, 2]}):
                frame, series = bind([given, [1, 2]], {})[0]
                self.assertEqual((frame.x.tolist(), series.tolist()), ([1, 2], [1, 2]))
            with self.assertRaisesRegex(BadArguments, "f: a must be a frame"):
                bind([[1, 2]], {})


if __name__ == "__main__":
    unittest.main()
