"""Arrays for a Python without NumPy, and the ways to NumPy and torch where they are."""

import struct
import sys
from typing import Any, Dict, Iterator, List, Sequence

from .types import EXTENDED_FLOATS, array_size, installed, item_letter, item_size

_SMALLEST = -(1 << 63)  # NaT
_DAY_UNITS = {"D": 1, "W": 7}
_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DIGITS = {"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
_NAN = float("nan")


class Array:
    """An array: shape, dtype (a text), data (its elements, C order, little-endian), len, a[i, j], a[1:3], tolist().

    numpy.asarray(a) makes one of NumPy. a[i] of several dimensions is an Array that shares the memory.
    """

    __slots__ = ("dtype", "shape", "data", "lib")

    def __init__(self, dtype: str, shape: Sequence[int], data: Any, lib: str = "") -> None:
        view = memoryview(data)
        self.data = view if view.format in ("B", "<B") and view.ndim == 1 else view.cast("B")
        size = array_size(dtype, shape)
        if size != len(self.data):
            raise ValueError("an array of %s with the shape %s has %d bytes, not %d" % (dtype, list(shape), size, len(self.data)))
        self.dtype, self.shape, self.lib = dtype, tuple(shape), lib

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return len(self.data)

    @property
    def size(self) -> int:
        return len(self.data) // item_size(self.dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self._at(key)
        found: Any = self
        for i, one in enumerate(key):
            if not isinstance(found, Array):
                raise IndexError("there are more indices than the %d dimensions" % self.ndim)
            if isinstance(one, slice) and key[i + 1:]:
                raise TypeError("only the last index may be a slice; numpy.asarray(a) can do more")
            found = found._at(one)
        return found

    def _at(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._slice(key)
        if not hasattr(key, "__index__"):
            raise TypeError("an index is a whole number or a slice; numpy.asarray(a) can do more")
        n = len(self) if self.shape else 0
        i = key.__index__() + (n if key < 0 else 0)
        if not 0 <= i < n:
            raise IndexError("index %d is outside of %d" % (key, n))
        step = len(self.data) // n
        row = self.data[i * step:(i + 1) * step]
        return Array(self.dtype, self.shape[1:], row, self.lib) if self.ndim > 1 else flat_list(self.dtype, row)[0]

    def _slice(self, key: slice) -> "Array":
        chosen = range(len(self))[key]
        step = len(self.data) // len(self) if len(self) else 0
        if chosen.step == 1:
            data: Any = self.data[chosen.start * step:max(chosen.start, chosen.stop) * step]
        else:
            data = b"".join(self.data[i * step:(i + 1) * step] for i in chosen)
        return Array(self.dtype, (len(chosen), *self.shape[1:]), data, self.lib)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self))) if self.ndim != 1 else iter(self.tolist())

    def tolist(self) -> Any:
        """Nested lists. Dates are their text."""
        flat = flat_list(self.dtype, self.data)
        if not self.shape:
            return flat[0]
        if 0 in self.shape[1:]:
            return _empty(self.shape)
        for n in reversed(self.shape[1:]):
            flat = [flat[i:i + n] for i in range(0, len(flat), n)]
        return flat

    def item(self) -> Any:
        """The only element."""
        if self.size != 1:
            raise ValueError("only an array of one element can be made a number, and this has %d" % self.size)
        return flat_list(self.dtype, self.data)[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        made = numpy_array(installed("numpy"), self.dtype, self.shape, self.data)
        return made if dtype is None else made.astype(dtype)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Array) and (self.dtype, self.shape, self.data) == (other.dtype, other.shape, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        some = self.data[:6 * item_size(self.dtype)]
        values = ", ".join(map(repr, flat_list(self.dtype, some)))
        return "Array(%s, shape=%s, [%s%s])" % (self.dtype, self.shape, values, ", …" if len(some) < len(self.data) else "")


def _empty(shape: Sequence[int]) -> List[Any]:
    if shape[0] > 1 << 20:
        raise ValueError("an empty array of the shape %s is too large for lists" % (tuple(shape),))
    return [_empty(shape[1:]) if shape[1:] else None for _ in range(shape[0])]


def flat_list(dtype: str, data: Any) -> List[Any]:
    """The elements as Python's own."""
    size = item_size(dtype)
    n = len(data) // size
    letter = item_letter(dtype)
    if letter:
        return list(struct.unpack("<%d%s" % (n, letter), data))
    if dtype == "complex64" or dtype == "complex128":
        parts = struct.unpack("<%d%s" % (2 * n, "f" if dtype == "complex64" else "d"), data)
        return [complex(parts[i], parts[i + 1]) for i in range(0, 2 * n, 2)]
    if dtype == "bfloat16":
        return list(struct.unpack("<%df" % n, struct.pack("<%dI" % n, *(v << 16 for v in struct.unpack("<%dH" % n, data)))))
    if dtype in EXTENDED_FLOATS:
        return [_float8(dtype, v) for v in bytes(data)]
    pieces = [bytes(data[i:i + size]) for i in range(0, len(data), size)]
    if dtype.startswith("bytes"):
        return [p.rstrip(b"\0") for p in pieces]
    if dtype.startswith("str"):
        return [p.decode("utf-32-le", "surrogatepass").rstrip("\0") for p in pieces]
    name, unit = dtype[:-1].split("[")
    read = date_text if name == "datetime64" else _duration_text
    return [read(v, unit) for v in struct.unpack("<%dq" % n, data)]


def _float8(dtype: str, byte: int) -> float:
    """float8_e5m2 is the upper half of a float16; the others have no infinity. Those on "fnuz" have one NaN, in place of -0."""
    if dtype == "float8_e8m0fnu":  # powers of two
        return _NAN if byte == 0xFF else 2.0 ** (byte - 127)
    if dtype == "float8_e5m2":
        return float(struct.unpack("<e", bytes((0, byte)))[0])
    if byte == 0x80 and dtype.endswith("uz") or byte & 0x7F == 0x7F and dtype == "float8_e4m3fn":
        return _NAN
    bits, bias = {"float8_e4m3fn": (3, 7), "float8_e4m3fnuz": (3, 8), "float8_e5m2fnuz": (2, 16)}[dtype]
    exponent, fraction = (byte & 0x7F) >> bits, (byte & (1 << bits) - 1) / (1 << bits)
    value = fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias)
    return -value if byte & 0x80 else value


def _duration_text(value: int, unit: str) -> str:
    return "NaT" if value == _SMALLEST else "%d %s" % (value, unit)


def date_text(value: int, unit: str) -> str:
    """A datetime64 as NumPy writes it."""
    if value == _SMALLEST:
        return "NaT"
    if unit == "Y":
        return _year(1970 + value)
    if unit == "M":
        return "%s-%02d" % (_year(1970 + value // 12), value % 12 + 1)
    if unit in _DAY_UNITS:
        return _day(value * _DAY_UNITS[unit])
    fraction = ""
    if unit in _DIGITS:
        value, rest = divmod(value, 10 ** _DIGITS[unit])
        fraction = ".%0*d" % (_DIGITS[unit], rest)
    days, seconds = divmod(value * _SECONDS.get(unit, 1), 86400)
    text = "%sT%02d" % (_day(days), seconds // 3600)
    if unit != "h":
        text += ":%02d" % (seconds // 60 % 60)
    return text if unit in ("h", "m") else text + ":%02d" % (seconds % 60) + fraction


def _year(year: int) -> str:
    return "%04d" % year if year >= 0 else "-%04d" % -year


def _day(days: int) -> str:
    """Days since 1970 in the calendar of today, carried on without end: eras of 400 years that begin in March."""
    era, day = divmod(days + 719468, 146097)
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    return "%s-%02d-%02d" % (_year(era * 400 + year + (month > 9)), month + 3 - (12 if month > 9 else 0), day - (153 * month + 2) // 5 + 1)


_NUMPY_KINDS: Dict[str, str] = {"int": "i", "uint": "u", "float": "f", "complex": "c"}


def numpy_array(numpy: Any, dtype: str, shape: Sequence[int], data: Any) -> Any:
    """An array of NumPy on the same memory. What NumPy cannot hold becomes float32, which is exact."""
    if dtype in EXTENDED_FLOATS:
        made = _short_floats(numpy, dtype, data)
    else:
        made = numpy.frombuffer(data, dtype=_numpy_name(dtype)) if len(data) else numpy.empty(0, dtype=_numpy_name(dtype))
        if not made.flags.aligned:
            made = made.copy()
    return made.reshape(tuple(shape))


def _numpy_name(dtype: str) -> str:
    if dtype.startswith("str"):
        return "<U" + dtype[3:]
    if dtype.startswith("bytes"):
        return "S" + dtype[5:]
    if dtype == "bool":
        return "?"
    if "[" in dtype:
        return "<" + dtype.replace("datetime64", "M8").replace("timedelta64", "m8")
    kind = dtype.rstrip("0123456789")
    return "<%s%d" % (_NUMPY_KINDS[kind], int(dtype[len(kind):]) // 8)


def _short_floats(numpy: Any, dtype: str, data: Any) -> Any:
    raw = numpy.frombuffer(data, dtype="<u2" if dtype == "bfloat16" else "u1")
    more = installed("ml_dtypes")
    if more is not None and hasattr(more, dtype):
        return raw.view(getattr(more, dtype))
    if dtype == "bfloat16":
        return (raw.astype("<u4") << 16).view("<f4")
    table = numpy.array(flat_list(dtype, bytes(range(256))), dtype="<f4")
    return table[raw]


def torch_tensor(torch: Any, dtype: str, shape: Sequence[int], data: Any) -> Any:
    """A tensor on the same memory, if that is aligned; None where this torch has no such dtype."""
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or sys.byteorder != "little":
        return None
    if not len(data):
        return torch.empty(tuple(shape), dtype=kind, device="cpu")
    made = torch.frombuffer(data, dtype=kind)
    if made.data_ptr() % item_size(dtype):
        made = made.clone()
    return made.reshape(tuple(shape))
