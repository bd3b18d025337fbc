"""Arguments against annotations: what our own validation takes and refuses, a JSON Schema validator takes and refuses, too."""

import datetime
import decimal
import json
import os
import pathlib
import random
import sys
import time
import unittest
import uuid

import jsonschema
import numpy as np
from loading import interface_of

from seer_worker.interface.describe import describe
from seer_worker.interface.load import LoadFailed
from seer_worker.schema.options import Options
from seer_worker.schema.validate import BadArguments, prepare

HEAD = '''
import collections, collections.abc, dataclasses, datetime, decimal, enum, pathlib, typing, uuid
from typing import *
import numpy as np
try:
    from typing import Annotated, NotRequired, Required
except ImportError:
    Annotated = NotRequired = Required = None

class Mode(enum.Enum):
    FAST = "fast"
    SLOW = 2
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Rights(enum.Flag):
    READ = 1
    WRITE = 2
class Odd(enum.Enum):
    A = (1, 2)
    B = object()
Layer = NewType("Layer", int)
Number = TypeVar("Number", bound=float)
Text = TypeVar("Text", str, int)
@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    tags: List[str] = dataclasses.field(default_factory=list)
    made: int = dataclasses.field(default=1, init=False)
@dataclasses.dataclass
class Positive:
    n: int
    def __post_init__(self):
        if self.n < 0: raise ValueError("n is negative")
@dataclasses.dataclass
class Tree:
    value: int
    children: "List[Tree]" = dataclasses.field(default_factory=list)
class Movie(TypedDict):
    title: str
    year: int
class Partial(Movie, total=False):
    rating: float
class Pair(NamedTuple):
    left: int
    right: str = "r"
Json = Union[None, bool, int, float, str, List["Json"], Dict[str, "Json"]]
class Gt:
    def __init__(self, gt): self.gt = gt
class Len:
    def __init__(self, min_length, max_length): self.min_length, self.max_length = min_length, max_length
class Meta:
    def __init__(self, **said): self.__dict__.update(said)
'''


class Said(str):
    """Python, to be read in the module."""


# An annotation, JSON values that fit it with what becomes of them, and JSON values that do not.
TABLE = [
    ("int", [(3, 3), (2.0, 2)], [True, "3", 2.5, None, [3]]),
    ("float", [(3, 3), (2.5, 2.5)], [False, "2", None]),
    ("str", [("a", "a"), ("", "")], [1, None, ["a"]]),
    ("bool", [(True, True)], [1, 0, "true", None]),
    ("None", [(None, None)], [0, False, ""]),
    ("Any", [(1, 1), ([None], [None])], []),
    ("object", [({"a": 1}, {"a": 1})], []),
    ("Optional[int]", [(1, 1), (None, None)], ["1", 1.5]),
    ("Union[int, str]", [(1, 1), ("1", "1")], [None, 1.5, []]),
    ("Union[List[int], Dict[str, int]]", [([1], [1]), ({"a": 1}, {"a": 1})], [["a"], {"a": "b"}, 1]),
    ("Union[Set[int], List[int]]", [([1, 1], [1, 1])], [["a"]]),
    ("Literal['a', 'b', 3, None]", [("a", "a"), (3, 3), (3.0, 3), (None, None)], ["c", True, 4]),
    ("Literal[True, 2]", [(True, True), (2, 2)], [1, False]),
    ("Mode", [("fast", Said("Mode.FAST")), (2, Said("Mode.SLOW"))], ["FAST", 1, None]),
    ("Level", [(1, Said("Level.LOW"))], [0, "LOW", True]),
    ("Rights", [(3, Said("Rights.READ|Rights.WRITE"))], ["READ", None]),
    ("Odd", [("A", Said("Odd.A"))], ["C", 1]),
    ("Layer", [(1, 1)], ["1"]),
    ("List[Layer]", [([1], [1])], [["1"]]),
    ("Number", [(1.5, 1.5)], ["1"]),
    ("Text", [("a", "a"), (1, 1)], [None]),
    ("list", [([1, "a"], [1, "a"])], [{}, "ab", 1]),
    ("List[float]", [([], []), ([1, 2.5], [1, 2.5])], [["a"], [1, None], {"a": 1}, "12"]),
    ("Sequence[str]", [(["a"], ["a"])], ["a", [1]]),
    ("Iterable[int]", [([1], [1])], [1, ["a"]]),
    ("List[List[int]]", [([[1], []], [[1], []])], [[1], [["a"]]]),
    ("Tuple[int, str]", [([1, "a"], (1, "a"))], [[1], [1, "a", 2], ["a", 1]]),
    ("Tuple[int, ...]", [([], ()), ([1, 2], (1, 2))], [["a"], 1]),
    ("Tuple[()]", [([], ())], [[1]]),
    ("tuple", [([1], (1,))], [1]),
    ("Set[int]", [([2, 1], {1, 2})], [["a"], [1, 1], 1]),
    ("FrozenSet[str]", [(["a"], Said("frozenset('a')"))], [["a", "a"], "a"]),
    ("Deque[int]", [([1], Said("collections.deque([1])"))], [["a"]]),
    ("dict", [({"a": 1}, {"a": 1})], [[], "a"]),
    ("Dict[str, int]", [({}, {}), ({"a": 1}, {"a": 1})], [{"a": "b"}, [1]]),
    ("Dict[int, str]", [({"1": "a"}, {1: "a"})], [{"a": "a"}, {"1": 1}]),
    ("Dict[Mode, int]", [({"fast": 1}, Said("{Mode.FAST: 1}"))], [{"other": 1}]),
    ("Mapping[str, List[int]]", [({"a": [1]}, {"a": [1]})], [{"a": 1}]),
    ("Point", [({"x": 1}, Said("Point(1)")), ({"x": 1, "y": 2, "tags": ["a"]}, Said("Point(1, 2, ['a'])"))],
     [{}, {"x": "1"}, {"x": 1, "z": 2}, {"x": 1, "made": 2}, [1], {"x": 1, "tags": [1]}]),
    ("List[Point]", [([{"x": 1}], Said("[Point(1)]"))], [[{}]]),
    ("Tree", [({"value": 1, "children": [{"value": 2}]}, Said("Tree(1, [Tree(2)])"))], [{"value": 1, "children": [{"value": "a"}]}]),
    ("Movie", [({"title": "a", "year": 1}, {"title": "a", "year": 1})], [{"title": "a"}, {"title": 1, "year": 1}]),
    ("Partial", [({"title": "a", "year": 1, "rating": 2}, {"title": "a", "year": 1, "rating": 2})],
     [{"title": "a", "year": 1, "rating": "x"}]),
    ("Pair", [([1], Said("Pair(1)")), ([1, "a"], Said("Pair(1, 'a')"))], [[], [1, 2], [1, "a", 3], {"left": 1}]),
    ("Json", [({"a": [1, None, {"b": 2.5}]}, {"a": [1, None, {"b": 2.5}]})], []),
    ("List[Json]", [([1, [2]], [1, [2]])], [{}]),
    ("decimal.Decimal", [("1.10", decimal.Decimal("1.10")), (2, decimal.Decimal(2))], ["a", None, ""]),
    ("complex", [("1+2j", 1 + 2j), (2.5, 2.5 + 0j)], ["x", None]),
    ("Callable[[int], int]", [("anything", "anything")], []),
    ("np.float32", [(1.5, Said("np.float32(1.5)"))], ["a", True]),
    ("np.int64", [(3, Said("np.int64(3)"))], ["a", 1.5]),
]
if sys.version_info >= (3, 9):
    TABLE += [
        ("list[dict[str, int]]", [([{"a": 1}], [{"a": 1}])], [[{"a": "b"}]]),
        ("Annotated[int, 'how many']", [(1, 1)], ["1"]),
        ("Annotated[int, Gt(0)]", [(1, 1)], [0, -1, "a"]),
        ("Annotated[Optional[float], Meta(ge=0, le=1)]", [(None, None), (0.5, 0.5)], [2, -1]),
        ("Annotated[str, Len(1, 3)]", [("abc", "abc")], ["", "abcd", 1]),
        ("Annotated[List[int], Len(1, 2)]", [([1], [1])], [[], [1, 2, 3], ["a"]]),
        ("List[Annotated[int, Meta(multiple_of=5)]]", [([5, 10], [5, 10])], [[5, 6]]),
        ("Annotated[str, Meta(pattern='^a+$')]", [("aa", "aa")], ["b", ""]),
        ("Annotated[int, Meta(description='x')]", [(1, 1)], ["1"]),
    ]
if sys.version_info >= (3, 10):
    TABLE += [("int | None", [(1, 1), (None, None)], ["a"]), ("list[str | int] | None", [(["a", 1], ["a", 1])], [[None]])]
if sys.version_info >= (3, 11):
    TABLE.append(("TypedDict('T', {'a': Required[int], 'b': NotRequired[str]}, total=False)",
                  [({"a": 1}, {"a": 1})], [{}, {"a": 1, "b": 2}]))

# What JSON Schema has no words for: a format, or what is in a base64 text.
OURS_ALONE = [
    ("datetime.datetime", [("2026-01-31T10:00:00Z", datetime.datetime(2026, 1, 31, 10, tzinfo=datetime.timezone.utc))], ["yesterday", ""]),
    ("datetime.date", [("2026-01-31", datetime.date(2026, 1, 31))], ["31.1."]),
    ("datetime.time", [("10:30:00", datetime.time(10, 30))], ["noon"]),
    ("datetime.timedelta", [(1.5, datetime.timedelta(seconds=1.5)), ("PT1H30M", datetime.timedelta(minutes=90)),
                            ("-P1DT2S", -datetime.timedelta(days=1, seconds=2)),
                            ("1 day, 0:00:01", datetime.timedelta(1, 1))], ["P", "PT", "1h"]),
    ("uuid.UUID", [("12345678-1234-5678-1234-567812345678", uuid.UUID("12345678123456781234567812345678"))], ["12"]),
    ("pathlib.Path", [("a/b", pathlib.Path("a/b"))], []),
    ("bytes", [("aGVq", b"hej"), ("data:image/png;base64,aGVq", b"hej")], ["%%%", "a"]),
    ("bytearray", [("aGVq", bytearray(b"hej"))], ["%%%"]),
    ("Positive", [({"n": 1}, Said("Positive(1)"))], [{"n": -1}]),
]
# Neither has a form for these.
BOTH_REFUSE = [("datetime.datetime", 5), ("bytes", 1), ("pathlib.Path", None), ("uuid.UUID", 3), ("datetime.timedelta", None)]


def mutated(chance, value, seeds):
    """Some JSON near value."""
    if chance.random() < 0.25:
        return chance.choice([None, True, False, 0, 1, -1, 2.0, 0.5, "", "a", "1", "fast", [], {}, chance.choice(seeds)])
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], mutated(chance, value[at], seeds), *value[at + chance.randrange(2):]]
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key or chance.random() < 0.5}
        return {**rest, chance.choice([key, "x", "1"]): mutated(chance, value[key], seeds)}
    return value


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows = TABLE + OURS_ALONE
        code = HEAD + "".join("A%d = %s\n@expose\ndef f%d(value: A%d): pass\n" % (i, row[0], i, i) for i, row in enumerate(rows))
        cls.interface = interface_of(code)
        cls.functions = {f["name"]: f for f in json.loads(json.dumps(describe(cls.interface)))["functions"]}
        cls.validators = {}
        cls.names = {row[0]: "f%d" % i for i, row in enumerate(rows)}

    def bound(self, annotation, value):
        args, kwargs = self.interface.binders[self.names[annotation]].bind([value], {})
        self.assertEqual(kwargs, {})
        return args[0]

    def valid(self, annotation, value):
        if annotation not in self.validators:
            schema = self.functions[self.names[annotation]]["input_schema"]
            jsonschema.Draft202012Validator.check_schema(schema)
            self.validators[annotation] = jsonschema.Draft202012Validator(schema)
        return self.validators[annotation].is_valid({"value": value})

    def test_what_fits(self):
        for annotation, fits, _ in TABLE + OURS_ALONE:
            for value, meant in fits:
                with self.subTest(annotation, value=value):
                    meant = eval(meant, vars(self.interface.module)) if isinstance(meant, Said) else meant
                    bound = self.bound(annotation, json.loads(json.dumps(value)))
                    self.assertEqual((type(bound), bound), (type(meant), meant))
                    self.assertTrue(self.valid(annotation, value), self.functions[self.names[annotation]]["input_schema"])

    def test_what_does_not(self):
        for annotation, _, misfits in TABLE:
            for value in misfits:
                with self.subTest(annotation, value=value):
                    with self.assertRaisesRegex(BadArguments, r"^f\d+: value.* must be .*, and is "):
                        self.bound(annotation, value)
                    self.assertFalse(self.valid(annotation, value), self.functions[self.names[annotation]]["input_schema"])

    def test_what_only_we_can_tell(self):
        for annotation, _, misfits in OURS_ALONE:
            for value in misfits:
                with self.subTest(annotation, value=value), self.assertRaisesRegex(BadArguments, "must be .*, and is "):
                    self.bound(annotation, value)
        for annotation, value in BOTH_REFUSE:
            with self.subTest(annotation, value=value):
                self.assertFalse(self.valid(annotation, value))
                with self.assertRaises(BadArguments):
                    self.bound(annotation, value)

    def test_chance_agrees(self):
        """Whatever JSON comes, both say the same, and nothing but BadArguments is raised."""
        chance = random.Random(int(os.environ.get("SEER_FUZZ_SEED", "1")))
        seeds = [v for _, fits, misfits in TABLE for v in [*(f[0] for f in fits), *misfits]]
        for annotation, fits, misfits in TABLE:
            if annotation in ("Callable[[int], int]", "np.float32", "np.int64"):  # the range of a type has no words in a schema
                continue
            own = [*(f[0] for f in fits), *misfits]
            for _ in range(int(os.environ.get("SEER_FUZZ_ROUNDS", "60"))):
                value = mutated(chance, chance.choice(own), seeds)
                try:
                    self.bound(annotation, json.loads(json.dumps(value)))
                    ours = True
                except BadArguments:
                    ours = False
                self.assertEqual(ours, self.valid(annotation, value), (annotation, value))

    def test_values_that_are_there_already_pass(self):
        module = vars(self.interface.module)
        for annotation, said in (("Mode", Said("Mode.FAST")), ("Point", Said("Point(1)")), ("Pair", Said("Pair(1)")), ("bytes", "b'a'"),
                                 ("decimal.Decimal", "decimal.Decimal(1)"), ("Set[int]", "{1, 2}"), ("np.float32", "np.float32(1)")):
            value = eval(said, module)
            self.assertEqual(self.bound(annotation, value), value)

    def test_numbers_of_numpy_are_numbers(self):
        self.assertEqual(self.bound("int", np.int32(3)), 3)
        self.assertEqual(self.bound("float", np.float32(0.5)), 0.5)
        self.assertIs(self.bound("bool", np.bool_(True)), True)
        self.assertEqual(self.bound("List[float]", np.arange(3.0)), [0.0, 1.0, 2.0])
        with self.assertRaises(BadArguments):
            self.bound("int", np.float64(1.5))

    def test_nothing_is_too_deep(self):
        value = []
        for _ in range(100_000):
            value = [value]
        with self.assertRaisesRegex(BadArguments, "nested too deeply"):
            self.bound("Json", value)
        while value:  # Python's own clearing of it is not a part of the test
            value = value[0]


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.binders = interface_of(HEAD + '''
@expose
def search(query: str, top_k: int = 5, *texts: str, mode: Mode = Mode.FAST, point: Optional[Point] = None, **more: List[int]): pass
@expose
def strict(a: int, b, /, c: str, *, d: int): pass
@expose
def none(): pass
''').binders

    def test_places(self):
        for args, kwargs, message in (
            (("q", "five"), {}, 'search: top_k must be an int, and is "five" (str)'),
            (("q", 1, "a", None), {}, "search: texts[1] must be a str, and is None"),
            (("q",), {"mode": "x"}, 'search: mode must be one of "fast", 2 (Mode), and is "x" (str)'),
            (("q",), {"point": {"x": 1, "tags": ["a", 2]}}, 'search: point["tags"][1] must be a str, and is 2 (int)'),
            (("q",), {"point": {}}, 'search: point must be a dict with the fields of Point or None, and is a dict without "x"'),
            (("q",), {"other": [1, "x"]}, 'search: other[1] must be an int, and is "x" (str)'),
            (("q",), {"query": "again"}, "search: multiple values for argument 'query'"),
            ((), {}, "search: missing a required argument: 'query'"),
        ):
            with self.subTest(message), self.assertRaises(BadArguments) as caught:
                self.binders["search"].bind(args, kwargs)
            self.assertTrue(str(caught.exception).startswith(message), caught.exception)

    def test_the_signature(self):
        for name, args, kwargs, message in (
            ("strict", (1, 2, "c", 4), {}, "strict: too many positional arguments"),
            ("strict", (1, 2), {"d": 4}, "strict: missing a required argument: 'c'"),
            ("strict", (1, 2, "c"), {}, "strict: missing a required argument: 'd'"),
            ("strict", (1,), {"b": 2, "c": "c", "d": 4}, "strict: 'b' is given by position only"),
            ("strict", (1, 2, "c"), {"d": 4, "dd": 5}, "strict: there is no parameter 'dd' (d?)"),
            ("none", (), {"x": 1}, "none: there is no parameter 'x'; it takes no arguments"),
            ("none", (1,), {}, "none: too many positional arguments; it takes ()"),
        ):
            with self.subTest(message), self.assertRaises(BadArguments) as caught:
                self.binders[name].bind(args, kwargs)
            self.assertTrue(str(caught.exception).startswith(message), caught.exception)

    def test_names_for_limits(self):
        binder = self.binders["search"]
        args, kwargs = binder.bind(("q", 2, "a"), {"mode": 2, "n": [1]})
        names = binder.names(args, kwargs)
        self.assertEqual({k: v for k, v in names.items() if k != "mode"},
                         {"query": "q", "top_k": 2, "texts": ["a"], "point": None, "more": {"n": [1]}})
        self.assertEqual(names["mode"].value, 2)
        self.assertEqual(binder.names(("q",), {})["top_k"], 5)

    def test_long_values_are_cut(self):
        with self.assertRaises(BadArguments) as caught:
            self.binders["search"].bind(("q", "x" * 100_000), {})
        self.assertLess(len(str(caught.exception)), 300)


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.interface = interface_of(HEAD + '''
import numpy.typing as npt
@expose
def plain(a: np.ndarray): pass
@expose
def floats(a: npt.NDArray[np.float32]): pass
@expose
def ints(a: "npt.NDArray[np.int8]"): pass
@expose
def some(a: Optional[npt.NDArray[np.floating]] = None, *rest: npt.NDArray[np.bool_]): pass
''')
        cls.schemas = {f["name"]: f["input_schema"] for f in describe(cls.interface)["functions"]}

    def bind(self, name, *args):
        return self.interface.binders[name].bind(args, {})[0]

    def test_nested_lists(self):
        array, = self.bind("floats", [[1, 2.5], [3, 4]])
        self.assertEqual((array.dtype, array.tolist()), (np.float32, [[1, 2.5], [3, 4]]))
        self.assertEqual(self.bind("ints", [1, 2.0])[0].dtype, np.int8)
        self.assertEqual(self.bind("some", [1, 2], [True])[0].dtype, np.float64)
        self.assertEqual(self.bind("plain", [])[0].shape, (0,))

    def test_arrays(self):
        array = np.ones((2, 3), np.float32)
        self.assertIs(self.bind("floats", array)[0], array)
        self.assertEqual(self.bind("floats", np.ones(2))[0].dtype, np.float32)
        self.assertIs(self.bind("plain", array)[0], array)
        self.assertIsNone(self.bind("some", None)[0])

    def test_what_is_none(self):
        for name, value, reason in (
            ("floats", "a", 'an array of float32, and is "a"'), ("floats", [[1], [1, 2]], "rows differ in length"),
            ("floats", {"a": 1}, "a dict"),
            ("floats", [None], "something else in it"), ("floats", [True], "something else in it"), ("ints", [1.5], "something else in it"),
            ("ints", [1000], "out of its range"), ("ints", np.ones(2), "shape (2,)"), ("plain", None, "and is None"),
            ("plain", "a file's text", "must be an array, and is \"a file's text\" (str)"),
        ):
            with self.subTest(name, value=value), self.assertRaises(BadArguments) as caught:
                self.bind(name, value)
            self.assertIn(reason, str(caught.exception))

    def test_their_schemas(self):
        for name, value, fits in (("floats", [[1, 2.5]], True), ("floats", {"handle": "h-12345678"}, True), ("floats", ["a"], False),
                                  ("floats", {"a": 1}, False), ("ints", [1, 2], True), ("ints", [1.5], False), ("some", None, True)):
            with self.subTest(name, value=value):
                self.assertEqual(jsonschema.Draft202012Validator(self.schemas[name]).is_valid({"a": value}), fits)


class Batches(unittest.TestCase):
    def test_one_call_is_one_element(self):
        interface = interface_of('''
from typing import List
@expose(batch=4)
def embed(texts: List[str], scale: "List[float]", *, any=[]) -> List[float]: pass
'''.replace(", *, any=[]", ", *, any"))
        binder = interface.binders["embed"]
        first, second = binder.bind(["a", 1], {"any": 0}), binder.bind([], {"texts": "b", "scale": 2.5, "any": None})
        self.assertEqual(binder.batch([first, second]), ([["a", "b"], [1, 2.5]], {"any": [0, None]}))
        with self.assertRaisesRegex(BadArguments, r'embed: texts must be a str, and is \[\'a\'\] \(list\)'):
            binder.bind([["a"], 1], {"any": 0})
        f = describe(interface)["functions"][0]
        self.assertEqual((f["batch"], f["returns"], f["output_schema"]), (4, "float", {"type": "number"}))
        self.assertEqual([(p.get("annotation"), p.get("schema")) for p in f["params"]],
                         [("str", {"type": "string"}), ("float", {"type": "number"}), (None, None)])


class WrongOptions(unittest.TestCase):
    def test_each_says_what_and_where(self):
        for option, definition, reason in (
            ("batch=0", "def f(a): pass", "batch=0) on f must be a whole number"),
            ("batch=True", "def f(a): pass", "batch=True) on f must be a whole number"),
            ("batch=2", "def f(a):\n    yield 1", "a generator gives many items"),
            ("batch=2", "def f(a: int): pass", "a must be a list with one value for each caller (list[…]); it is int"),
            ("batch=2", "def f(a: list = []): pass", "a cannot have a default"),
            ("batch=2", "def f(*a): pass", "cannot have *a"),
            ("batch_wait=1", "def f(a): pass", "needs batch="),
            ("batch=2, batch_wait=-1", "def f(a): pass", "must be a number of seconds"),
            ("batch=2, batch_wait=600", "def f(a): pass", "more than the 60 seconds"),
            ("concurrent=0", "def f(a): pass", "concurrent=0) on f must be a whole number"),
            ("concurrent='many'", "def f(a): pass", "must be a whole number"),
            ("timeout=0", "def f(a): pass", "would end every call at once"),
            ("timeout='1m'", "def f(a): pass", "must be a number of seconds"),
            ("title=3", "def f(a): pass", "must be text"),
            ("read_only=1", "def f(a): pass", "must be True or False"),
            ("threads=3", "def f(a): pass", "unexpected keyword argument 'threads'"),
        ):
            with self.subTest(option, definition=definition):
                with self.assertRaises(LoadFailed) as caught:
                    interface_of("\n\n@expose(%s)\n%s\n" % (option, definition))
                self.assertIn(reason, caught.exception.error["message"])
                line = "[34]" if "threads" in option else "3"  # Python 3.8 counts from the def
                self.assertRegex(caught.exception.error["message"], r"\(interface\.py, line %s\)$" % line)

    def test_all_of_them(self):
        interface = interface_of('''
@expose(concurrent=True, timeout=2, title="T", read_only=True, destructive=False, idempotent=True, open_world=False)
async def f(): yield 1
@expose(concurrent=3, batch=8, batch_wait=0.5)
def g(a): pass
@expose()
def h(): pass
''')
        hints = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}
        self.assertEqual(interface.registry.options, {
            "f": Options(16, 0, 0.005, 2.0, "T", hints, True, True), "g": Options(3, 8, 0.5), "h": Options()})
        f, g, h = describe(interface)["functions"]
        said = {k: f[k] for k in ("async", "stream", "concurrent", "timeout_seconds", "title", "hints")}
        self.assertEqual(said, {"async": True, "stream": True, "concurrent": 16, "timeout_seconds": 2.0, "title": "T", "hints": hints})
        self.assertEqual((g["concurrent"], g["batch"]), (3, 8))
        self.assertEqual(set(h), {"name", "line", "params", "input_schema"})


class Speed(unittest.TestCase):
    """Generous limits: ten times what a quiet machine needs."""

    def best(self, run, rounds=5):
        def once():
            begin = time.perf_counter()
            run()
            return time.perf_counter() - begin
        return min(once() for _ in range(rounds))

    def test_plain_arguments(self):
        def f(a: int, b: str): pass
        bind = prepare(f).bind
        args, kwargs = [1, "b"], {}

        def many():
            for _ in range(10_000):
                bind(args, kwargs)
        self.assertLess(self.best(many) / 10_000, 20e-6)

    def test_a_long_list(self):
        def f(a: "list[float]" if sys.version_info >= (3, 9) else list): pass
        binder, values = prepare(f), [0.5] * 1_000_000
        self.assertIs(binder.bind([values], {})[0][0], values)
        self.assertLess(self.best(lambda: binder.bind([values], {}), 3), 1)


if __name__ == "__main__":
    unittest.main()
