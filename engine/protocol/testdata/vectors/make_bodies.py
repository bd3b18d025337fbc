"""Writes bodies.json: bodies of values (docs/protocol.md, section 4), for the tests in Go and in Python.

    python3 make_bodies.py > bodies.json

It knows the layout by itself and uses neither implementation; NumPy says how its own types look. Each has a name and
the body in hex; of a valid one

    plain       what somebody gets to see who knows no tags
    python      an expression that gives the value, where there is one; "exact" if encoding it makes this very body

Those that are not valid must be refused, when they are taken apart or when they are decoded.
"""

import json
import struct
import zlib

import numpy as np


def pack(value, *parts, deflated=()):
    """A body with parts; those whose numbers are in deflated are compressed."""
    parts = [json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(), *parts]
    stored = [zlib.compress(p) if i in deflated else p for i, p in enumerate(parts)]
    table = b"".join(struct.pack("<BQQ", i in deflated, len(s), len(p)) for i, (s, p) in enumerate(zip(stored, parts)))
    return b"\0SV1" + struct.pack("<I", len(parts)) + table + b"".join(stored)


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def tag(**content):
    return {"$seer": content}


def array(dtype, shape, buffer=1, lib="numpy"):
    return tag(array={"dtype": dtype, "shape": shape, "buffer": buffer, "lib": lib})


def frame(columns, data, index=None, dtypes=(), names=(None,)):
    return tag(frame={"columns": columns, "data": data, "index": index, "dtypes": list(dtypes), "names": list(names)})


VALID, INVALID = [], []


def valid(name, body, plain, python=None, exact=True):
    VALID.append({"name": name, "body": body.hex(), "plain": plain, **({"python": python, "exact": exact} if python else {})})


def invalid(name, body):
    INVALID.append({"name": name, "body": body.hex()})


def seen(v):
    """An element of an array of NumPy as it is shown."""
    if isinstance(v, (np.datetime64, np.timedelta64)):
        if np.isnat(v):
            return "NaT"
        return str(v) if isinstance(v, np.datetime64) else "%d %s" % (v.astype("i8"), np.datetime_data(v.dtype)[0])
    v = v.item()
    if isinstance(v, float) and not np.isfinite(v):
        return "NaN" if v != v else "Infinity" if v > 0 else "-Infinity"
    return v


def shown(a):
    return [shown(x) for x in a] if isinstance(a, np.ndarray) else seen(a)


def of_numpy(name, code, values, dtype=None, plain=None):
    a = eval("np.array(%s, dtype=%r)" % (values, code))
    dtype = dtype or a.dtype.name
    valid(
        name,
        pack(array(dtype, list(a.shape)), a.tobytes()),
        shown(a) if plain is None else plain,
        "np.array(%s, dtype=%r)" % (values, code),
    )


# dtypes

of_numpy("bool", "?", "[True, False]")
for bits in 8, 16, 32, 64:
    top = 1 << bits - 1
    of_numpy("int%d" % bits, "<i%d" % (bits // 8), "[[%d, %d], [0, -1]]" % (-top, top - 1))
    of_numpy("uint%d" % bits, "<u%d" % (bits // 8), "[[%d, 0, 1]]" % (2 * top - 1))
of_numpy(
    "float16",
    "<f2",
    "[0.5, -0.0, 65504, 6e-08, np.nan, np.inf, -np.inf]",
    plain=[0.5, -0.0, 65504.0, 5.9604645e-08, "NaN", "Infinity", "-Infinity"],
)
of_numpy(
    "float32",
    "<f4",
    "[[0.1, -0.0], [3.4028235e+38, 1e-45], [1e16, 123456.78]]",
    plain=[[0.1, -0.0], [3.4028235e38, 1e-45], [1e16, 123456.78]],
)
of_numpy("float64", "<f8", "[0.1, 5e-324, 1e300, np.nan, np.inf, -np.inf]")
of_numpy("complex64", "<c8", "[1+2j, -0.5j]", plain=["1+2j", "-0-0.5j"])
of_numpy("complex128", "<c16", "[complex('nan'), complex(1e300, float('-inf'))]", plain=["nan+0j", "1e+300-infj"])
of_numpy("str5", "<U5", "['ä😀', '', 'abcde']", "str5")
of_numpy("bytes3", "S3", "[b'ab', b'', b'\\xff\\x00\\x01']", "bytes3", ["YWI=", "", "/wAB"])
for unit, values in {
    "Y": "[2026, -30, 0]",
    "M": "[0, -1, 673]",
    "W": "[0, 2926, -1]",
    "D": "[0, -1, 20484, -719528, 11016, 2932896]",
    "h": "[0, -25, 491634]",
    "m": "[0, -1, 29498043]",
    "s": "[0, -1, 1769853600]",
    "ms": "[1, -1]",
    "us": "[1769853600000001]",
    "ns": "[1769853600000000001, -1]",
    "ps": "[1]",
    "fs": "[-1]",
    "as": "[1000000000000000000]",
}.items():
    of_numpy("datetime64 of " + unit, "<M8[%s]" % unit, values[:-1] + ", 'NaT']", "datetime64[%s]" % unit)
of_numpy("timedelta64", "<m8[s]", "[-5, 0, 'NaT']", "timedelta64[s]")
valid(
    "bfloat16 of torch",
    pack(array("bfloat16", [2, 2], lib="torch"), struct.pack("<4H", 0x3F80, 0xC040, 0x7FC0, 0x7F80)),
    [[1.0, -3.0], ["NaN", "Infinity"]],
    "torch.tensor([[1, -3], [float('nan'), float('inf')]], dtype=torch.bfloat16)",
)
valid(
    "float32 of torch",
    pack(array("float32", [3], lib="torch"), struct.pack("<3f", 1, 2, 0.5)),
    [1.0, 2.0, 0.5],
    "torch.tensor([1, 2, 0.5])",
)
valid(
    "float8_e4m3fn",
    pack(array("float8_e4m3fn", [6], lib="torch"), bytes([0x38, 0x7E, 0x01, 0xFF, 0x80, 0xC9])),
    [1.0, 448.0, 2.0**-9, "NaN", -0.0, -4.5],
)
valid(
    "float8_e5m2",
    pack(array("float8_e5m2", [5], lib=""), bytes([0x3C, 0x7B, 0x01, 0xFC, 0x7E])),
    [1.0, 57344.0, 1.5258789e-05, "-Infinity", "NaN"],
)
valid(
    "float8_e4m3fnuz",
    pack(array("float8_e4m3fnuz", [5], lib="torch"), bytes([0x40, 0x7F, 0x01, 0x80, 0xC9])),
    [1.0, 240.0, 2.0**-10, "NaN", -2.25],
)
valid(
    "float8_e5m2fnuz",
    pack(array("float8_e5m2fnuz", [5], lib="torch"), bytes([0x40, 0x7F, 0x01, 0x80, 0xC2])),
    [1.0, 57344.0, 7.6293945e-06, "NaN", -1.5],
)
valid("float8_e8m0fnu", pack(array("float8_e8m0fnu", [4], lib="torch"), bytes([127, 130, 0, 255])), [1.0, 8.0, 5.877472e-39, "NaN"])
valid(
    "a tensor of a GPU",
    pack(tag(array={"dtype": "int16", "shape": [2], "buffer": 1, "lib": "torch", "device": "cuda:1"}), struct.pack("<2h", 1, -1)),
    [1, -1],
)
for dtype, data, plain, python in (
    ("float32", struct.pack("<f", 0.1), 0.10000000149011612, "torch.tensor(0.1)"),
    ("bfloat16", struct.pack("<H", 0x7FC0), "NaN", "torch.tensor(float('nan'), dtype=torch.bfloat16)"),
    ("int64", struct.pack("<q", -(2**60) - 1), -(2**60) - 1, "torch.tensor(-(2**60) - 1)"),
    ("uint64", struct.pack("<Q", 2**64 - 1), 2**64 - 1, None),
    ("bool", b"\1", True, "torch.tensor(True)"),
    ("complex64", struct.pack("<2f", 1, -2.5), "1-2.5j", "torch.tensor(1-2.5j)"),
):
    valid("a tensor without dimensions of " + dtype, pack(array(dtype, [], lib="torch"), data), plain, python)

# shapes and places

valid("no elements", pack(array("float32", [0]), b""), [], "np.zeros(0, '<f4')")
valid("no elements in rows", pack(array("int64", [2, 0, 3]), b""), [[], []], "np.zeros((2, 0, 3), '<i8')")
valid("a moment of NumPy", pack(array("datetime64[D]", []), struct.pack("<q", 0)), "1970-01-01", "np.datetime64('1970-01-01')")
valid(
    "not contiguous",
    pack(array("int16", [2, 2]), struct.pack("<4h", 0, 2, 1, 3)),
    [[0, 2], [1, 3]],
    "np.arange(4, dtype='<i2').reshape(2, 2).T",
)
valid("big-endian", pack(array("int16", [2]), struct.pack("<2h", 1, 258)), [1, 258], "np.array([1, 258], dtype='>i2')")
valid("every second", pack(array("uint8", [3]), bytes([0, 2, 4])), [0, 2, 4], "np.arange(6, dtype='u1')[::2]")
valid(
    "three arrays, nested",
    pack({"a": [array("uint8", [1], 1), {"b": array("uint8", [1], 2)}], "c": array("uint8", [2], 3)}, b"\1", b"\2", b"\3\4"),
    {"a": [[1], {"b": [2]}], "c": [3, 4]},
    "{'a': [np.array([1], 'u1'), {'b': np.array([2], 'u1')}], 'c': np.array([3, 4], 'u1')}",
)
valid("the same buffer twice", pack([array("uint8", [2]), array("int16", [1])], b"\1\1"), [[1, 1], [257]])
valid("a buffer that nobody names", pack([1], b"abc"), [1])
valid("a scalar of NumPy", text(2.5), 2.5, "np.float32(2.5)")
valid("no dimensions", text(7), 7, "np.array(7)")
valid(
    "arguments",
    pack({"args": [array("uint8", [1])], "kwargs": {"n": tag(float="nan")}}, b"\1"),
    {"args": [[1]], "kwargs": {"n": "NaN"}},
    "{'args': [np.array([1], 'u1')], 'kwargs': {'n': math.nan}}",
)

# other tags

valid("bytes", pack(tag(bytes=1), b"\0\xffabc"), "AP9hYmM=", "b'\\x00\\xffabc'")
valid("no bytes", pack(tag(bytes=1), b""), "", "b''")
valid(
    "floats",
    text([tag(float="nan"), tag(float="inf"), tag(float="-inf")]),
    ["NaN", "Infinity", "-Infinity"],
    "[math.nan, math.inf, -math.inf]",
)
valid("complex", text(tag(complex=[1.0, -2.5])), "1-2.5j", "1-2.5j")
valid("complex and not finite", text(tag(complex=[tag(float="nan"), tag(float="inf")])), "nan+infj", "complex(math.nan, math.inf)")
valid("a dict with a tag", text(tag(dict={"$seer": 1, "x": tag(float="nan")})), {"$seer": 1, "x": "NaN"}, "{'$seer': 1, 'x': math.nan}")
valid("tuples as keys", text(tag(items=[[[1, "a"], 2], [3, None]])), [[[1, "a"], 2], [3, None]], "{(1, 'a'): 2, 3: None}")
valid("keys of the same text", text(tag(items=[[1, "a"], ["1", tag(float="nan")]])), [[1, "a"], ["1", "NaN"]], "{1: 'a', '1': math.nan}")
valid(
    "an aware datetime",
    text(tag(datetime="2026-01-31T10:00:00.000001+01:00")),
    "2026-01-31T10:00:00.000001+01:00",
    "datetime.datetime(2026, 1, 31, 10, 0, 0, 1, datetime.timezone(datetime.timedelta(hours=1)))",
)
valid("a naive datetime", text(tag(datetime="2026-01-31T10:00:00")), "2026-01-31T10:00:00", "datetime.datetime(2026, 1, 31, 10)")
valid(
    "a date and a time",
    text([tag(date="2026-01-31"), tag(time="10:00:00.500000")]),
    ["2026-01-31", "10:00:00.500000"],
    "[datetime.date(2026, 1, 31), datetime.time(10, 0, 0, 500000)]",
)
valid(
    "durations",
    text([tag(timedelta=[1, 2, 30]), tag(timedelta=[-1, 86399, 0]), tag(timedelta=[0, 0, 0])]),
    ["P1DT2.00003S", "-P0DT1S", "P0DT0S"],
    "[datetime.timedelta(1, 2, 30), datetime.timedelta(seconds=-1), datetime.timedelta(0)]",
)
valid(
    "decimals",
    text([tag(decimal="1.10"), tag(decimal="-1E+400"), tag(decimal="NaN")]),
    ["1.10", "-1E+400", "NaN"],
    "[decimal.Decimal('1.10'), decimal.Decimal('-1E+400'), decimal.Decimal('NaN')]",
)
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000002000000010802000000") + struct.pack(
    ">I", zlib.crc32(bytes.fromhex("4948445200000002000000010802000000"))
)
DATA = zlib.compress(bytes([0, 255, 0, 0, 0, 0, 255]))
PNG += (
    struct.pack(">I", len(DATA))
    + b"IDAT"
    + DATA
    + struct.pack(">I", zlib.crc32(b"IDAT" + DATA))
    + bytes.fromhex("0000000049454e44ae426082")
)
valid(
    "an image",
    pack(tag(image={"format": "png", "mode": "RGB", "size": [2, 1], "buffer": 1}), PNG),
    "data:image/png;base64," + __import__("base64").b64encode(PNG).decode(),
)
valid(
    "a handle",
    text({"h": tag(handle={"id": "h-1", "kind": "array", "shape": [2], "stats": {"min": tag(float="nan")}})}),
    {"h": {"handle": {"id": "h-1", "kind": "array", "shape": [2], "stats": {"min": "NaN"}}}},
)
TWO = struct.pack("<2d", 0.5, float("nan"))
valid(
    "a frame",
    pack(frame(["a", "b"], [array("float64", [2]), ["x", None]], dtypes=["float64", "object"]), TWO),
    [{"a": 0.5, "b": "x"}, {"a": "NaN", "b": None}],
    "pd.DataFrame({'a': [0.5, math.nan], 'b': ['x', None]})",
)
valid(
    "a frame with an index",
    pack(frame([1], [array("float64", [2])], ["x", "y"], ["float64"], ["k"]), TWO),
    [{"k": "x", "1": 0.5}, {"k": "y", "1": "NaN"}],
    "pd.DataFrame({1: [0.5, math.nan]}, index=pd.Index(['x', 'y'], name='k'))",
)
valid(
    "a frame with two levels",
    pack(
        frame(["v"], [array("int64", [2])], [["x", "y"], array("int64", [2], 2)], ["int64"], ["k", None]),
        struct.pack("<2q", 1, 2),
        struct.pack("<2q", 3, 4),
    ),
    [{"k": "x", "level_1": 3, "v": 1}, {"k": "y", "level_1": 4, "v": 2}],
    "pd.DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_arrays([['x', 'y'], [3, 4]], names=['k', None]))",
)
valid("an empty frame", text(frame([], [])), [], "pd.DataFrame()", exact=False)
valid(
    "a series",
    pack(tag(series={"name": "s", "data": array("float64", [2]), "dtype": "float64", "index": None, "names": [None]}), TWO),
    [0.5, "NaN"],
    "pd.Series([0.5, math.nan], name='s')",
    exact=False,
)
valid(
    "a series with an index",
    pack(tag(series={"name": None, "data": array("float64", [2]), "index": ["x", "y"], "dtype": "float64", "names": [None]}), TWO),
    [["x", 0.5], ["y", "NaN"]],
    "pd.Series([0.5, math.nan], index=['x', 'y'])",
    exact=False,
)

# bodies

MANY = np.arange(3000, dtype="<i4")
valid("compressed", pack(array("int32", [3000]), MANY.tobytes(), deflated=[1]), MANY.tolist(), "np.arange(3000, dtype='<i4')", exact=False)
valid("compressed JSON", pack([0] * 100, deflated=[0]), [0] * 100, "[0] * 100", exact=False)
valid("compressed, with nothing in it", pack(tag(bytes=1), b"", deflated=[1]), "", "b''", exact=False)
valid("one part", pack({"a": 1}), {"a": 1}, "{'a': 1}", exact=False)

GOOD = pack(array("uint8", [2]), b"\1\2")
for n in range(4, len(GOOD)):
    if n in (4, 7, 8, 12, 24, 25, 41, 42, 43, len(GOOD) - 1):
        invalid("cut after %d bytes" % n, GOOD[:n])
invalid("nothing at all", b"")
invalid("bytes behind the parts", GOOD + b"\0")
invalid("no parts", b"\0SV1" + struct.pack("<I", 0))
invalid("more parts than bytes", b"\0SV1\xff\xff\xff\xff" + bytes(100))
invalid("an unknown coding", GOOD[:8] + b"\2" + GOOD[9:])
invalid("a raw part of two lengths", GOOD[:34] + b"\3" + GOOD[35:])
invalid("a part of 16 EiB", GOOD[:26] + b"\xff" * 16 + GOOD[42:])
invalid(
    "lengths that overflow",
    b"\0SV1" + struct.pack("<I", 3) + struct.pack("<BQQ", 0, 1, 1) + struct.pack("<BQQ", 0, 1 << 63, 1 << 63) * 2 + b"1",
)
BOMB = zlib.compress(bytes(1 << 20), 9)
for name, length in (
    ("a compressed part that is longer than it says", 100),
    ("a compressed part that is shorter than it says", (1 << 20) + 1),
    ("a compressed part that cannot be so long", 1 << 40),
):
    invalid(
        name,
        b"\0SV1"
        + struct.pack("<I", 2)
        + struct.pack("<BQQ", 0, 20, 20)
        + struct.pack("<BQQ", 1, len(BOMB), length)
        + b'{"$seer":{"bytes":1}}'[:20]
        + BOMB,
    )
ABC = zlib.compress(b"abc")
for name, data in (
    ("a compressed part that is damaged", ABC[:-1] + bytes([ABC[-1] ^ 1])),
    ("a compressed part that is cut", ABC[:-1]),
    ("bytes behind a compressed part", ABC + b"x"),
    ("a compressed part that is none", b"xxxxxxxxxxxx"),
):
    invalid(
        name,
        b"\0SV1"
        + struct.pack("<I", 2)
        + struct.pack("<BQQ", 0, 21, 21)
        + struct.pack("<BQQ", 1, len(data), 3)
        + b'{"$seer":{"bytes":1}}'
        + data,
    )
invalid("JSON that is none", b"\0SV1" + struct.pack("<IBQQ", 1, 0, 3, 3) + b'{"a')
invalid("NaN as JSON", b"[NaN]")
invalid("JSON that is not UTF-8", b'"\xff"')
invalid("deep nesting", b"[" * 11000 + b"]" * 11000)
for what, value in {
    "an array": array("uint8", [2], 0),
    "bytes": tag(bytes=2),
    "a negative number": tag(bytes=-1),
    "a fraction": tag(bytes=1.0),
    "truth": tag(bytes=True),
    "a text": tag(bytes="1"),
    "an image": tag(image={"format": "png", "mode": "L", "size": [1, 1], "buffer": 3}),
}.items():
    invalid("a buffer that is not there: " + what, pack(value, b"\1\2"))
for what, dtype, shape in (
    ("a shape that is too small", "uint8", [1]),
    ("a shape that is too large", "uint8", [3]),
    ("another size of elements", "int16", [2]),
    ("a negative shape", "uint8", [-2]),
    ("negative shapes", "uint8", [-1, -2]),
    ("a shape of floats", "uint8", [2.0]),
    ("a shape of truth", "uint8", [True, 2]),
    ("a shape that is a number", "uint8", 2),
    ("a shape that overflows", "uint8", [1 << 32, 1 << 32]),
    ("a shape that overflows to 2", "uint8", [2, (1 << 63) + 1]),
    ("a shape that overflows beside nothing", "float64", [0, 1 << 40, 1 << 40]),
    ("65 dimensions", "uint8", [2] + [1] * 64),
    ("objects", "object", [2]),
    ("no dtype", "", [2]),
    ("a dtype that is not a text", 8, [2]),
    ("a structure", "[('a', 'u1')]", [2]),
    ("texts of no letters", "str0", [1 << 40]),
    ("bytes of no bytes", "bytes0", [1 << 40]),
    ("a dtype of another spelling", "<i2", [1]),
    ("a unit that is none", "datetime64[x]", []),
    ("a dtype with more behind it", "uint8\n", [2]),
):
    invalid("an array with " + what, pack(array(dtype, shape), b"\1\2"))
invalid("an array with a letter beyond Unicode", pack(array("str1", [2]), struct.pack("<2I", 97, 0x110000)))
invalid("an array on a number", pack(tag(array={"dtype": "uint8", "shape": [2], "buffer": 1, "device": 1}), b"\1\2"))
invalid("an array that is a list", pack(tag(array=["uint8", [2], 1]), b"\1\2"))
invalid("an array without a buffer", pack(tag(array={"dtype": "uint8", "shape": [2]}), b"\1\2"))
for what, value in {
    "an unknown tag": tag(pickle="x"),
    "two tags": tag(float="nan", bytes=1),
    "no tag": tag(),
    "a list for a tag": {"$seer": []},
    "an unknown float": tag(float="NaN"),
    "a float that is one": tag(float=1.0),
    "items that are no pairs": tag(items=[[1]]),
    "items that are a dict": tag(items={}),
    "a dict for a key": tag(items=[[{}, 1]]),
    "a complex number of three": tag(complex=[1, 2, 3]),
    "a complex number of text": tag(complex=["1", "2"]),
    "a datetime that is none": tag(datetime="yesterday"),
    "a datetime that is a number": tag(datetime=1),
    "a date that is none": tag(date="2026-1-1"),
    "a day that is none": tag(date="2026-02-30"),
    "a year that is none": tag(datetime="0000-01-01T00:00:00"),
    "an hour that is none": tag(time="24:00:00"),
    "an offset that is none": tag(datetime="2026-01-01T00:00:00+24:00"),
    "a time that is none": tag(time="10"),
    "a duration of two": tag(timedelta=[1, 2]),
    "a duration of floats": tag(timedelta=[1.0, 2, 3]),
    "an endless duration": tag(timedelta=[10**12, 0, 0]),
    "a decimal that is none": tag(decimal="1,5"),
    "a decimal that is a number": tag(decimal=1),
    "an image of an unknown format": tag(image={"format": "exe", "mode": "L", "size": [1, 1], "buffer": 1}),
    "an image of no size": tag(image={"format": "png", "mode": "L", "buffer": 1}),
    "a frame without data": tag(frame={"columns": ["a"]}),
    "a frame with fewer columns": frame(["a"], [[1], [2]]),
    "a frame of uneven columns": frame(["a", "b"], [[1], [2, 3]]),
    "a frame of texts": frame(["a"], ["xy"]),
    "a frame with a short index": frame(["a"], [[1, 2]], [1]),
    "a frame with dtypes of another count": frame(["a"], [[1]], dtypes=["x", "y"]),
    "a frame of two dimensions": frame(["a"], [array("uint8", [1, 2])]),
    "a series without data": tag(series={"name": "a"}),
    "a handle without an id": tag(handle={"kind": "array"}),
    "a handle with an empty id": tag(handle={"id": ""}),
    "a handle that is a text": tag(handle="h-1"),
}.items():
    invalid(what, pack(value, b"\1\2"))

print(
    json.dumps(
        {"comment": " ".join(__doc__.split("\n")[0].split()) + " Made by make_bodies.py.", "valid": VALID, "invalid": INVALID},
        indent=1,
        ensure_ascii=False,
    )
)
