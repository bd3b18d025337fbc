"""What all modules of values share: the tag, the refusal, dtypes, and the small types of a Python without PIL or handles."""

import functools
import importlib
import re
import sys
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple

TAG = "$seer"
MAX_DIMENSIONS = 64
_MAX_BYTES = 1 << 62

# Bytes of an element, and its letter in struct where it has one.
_DTYPES: Dict[str, Tuple[int, str]] = {
    "bool": (1, "?"), "int8": (1, "b"), "int16": (2, "h"), "int32": (4, "i"), "int64": (8, "q"),
    "uint8": (1, "B"), "uint16": (2, "H"), "uint32": (4, "I"), "uint64": (8, "Q"),
    "float16": (2, "e"), "float32": (4, "f"), "float64": (8, "d"), "complex64": (8, ""), "complex128": (16, ""),
    "bfloat16": (2, ""), "float8_e4m3fn": (1, ""), "float8_e5m2": (1, ""), "float8_e4m3fnuz": (1, ""), "float8_e5m2fnuz": (1, ""),
    "float8_e8m0fnu": (1, ""),
}
EXTENDED_FLOATS = tuple(name for name in _DTYPES if name.startswith(("bfloat", "float8")))  # NumPy has them from ml_dtypes only
_DATE_DTYPE = re.compile(r"(?:datetime64|timedelta64)\[(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]", re.ASCII)
_TEXT_DTYPE = re.compile(r"(str|bytes)([1-9][0-9]{0,8})", re.ASCII)


class Unserialisable(Exception):
    """A value, or a part of it at path, has no form on the wire."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path: List[str] = []

    def at(self, root: str) -> str:
        return "%s%s %s" % (root, "".join(self.path), self.what)


def item_size(dtype: Any) -> int:
    """How many bytes an element has; ValueError for an unknown dtype."""
    if type(dtype) is str:
        if dtype in _DTYPES:
            return _DTYPES[dtype][0]
        if _DATE_DTYPE.fullmatch(dtype):
            return 8
        text = _TEXT_DTYPE.fullmatch(dtype)
        if text:
            return int(text[2]) * (4 if text[1] == "str" else 1)
    raise ValueError("an array has the dtype %.80r, which is unknown here" % (dtype,))


def item_letter(dtype: str) -> str:
    """The letter that struct has for a dtype, or nothing."""
    return _DTYPES.get(dtype, (0, ""))[1]


def array_size(dtype: Any, shape: Any) -> int:
    """How many bytes such an array has; ValueError where it cannot be."""
    if type(shape) not in (list, tuple) or len(shape) > MAX_DIMENSIONS:
        raise ValueError("an array has the shape %.80r" % (shape,))
    size, extent = item_size(dtype), 1
    for n in shape:
        if type(n) is not int or n < 0:
            raise ValueError("an array has the shape %.80r" % (shape,))
        extent *= n or 1  # also an empty one must be possible
        size *= n
    if extent * item_size(dtype) > _MAX_BYTES:
        raise ValueError("an array has the shape %.80r, which is too large for any machine" % (shape,))
    return size


def check_letters(dtype: str, data: Any) -> None:
    """ValueError where an array of texts has what is not a letter of Unicode: Python would fall over it later."""
    if dtype.startswith("str") and (any(bytes(data[3::4])) or max(bytes(data[2::4]), default=0) > 16):
        raise ValueError("an array of texts has letters that are none")


@functools.lru_cache(maxsize=None)
def installed(name: str) -> Any:
    """A module, if it can be imported; otherwise None. Only for what a decoder meets: encoders look at sys.modules."""
    try:
        return importlib.import_module(name)
    except Exception as e:  # one that is broken is as good as none, but for torch: values would have another type than the user expects
        if name == "torch" and not (isinstance(e, ModuleNotFoundError) and e.name == name):
            warnings.warn("torch cannot be imported, so tensors arrive as arrays: %s" % e, RuntimeWarning, stacklevel=2)
        return None


def loaded(name: str) -> Any:
    """A module, if the user's code has imported it."""
    return sys.modules.get(name)


def type_name(cls: type) -> str:
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, cls.__qualname__)


def with_article(name: str) -> str:
    return ("an " if name[:1] in "aeiouAEIOU" else "a ") + name


class HandleRef:
    """Goes to a caller in place of a value that stays in the sandbox: its HANDLE."""

    __slots__ = ("info",)

    def __init__(self, info: Dict[str, Any]) -> None:
        self.info = info

    def __seer_handle__(self) -> Dict[str, Any]:
        return self.info

    def __repr__(self) -> str:
        return "HandleRef(%r)" % (self.info,)


class Image:
    """An image file, where Pillow is not installed. data is the file's content; save(path) writes it."""

    __slots__ = ("format", "mode", "size", "data")

    def __init__(self, format: str, mode: str, size: Sequence[int], data: Any) -> None:
        self.format, self.mode, self.size, self.data = format, mode, (size[0], size[1]), data

    def save(self, path: Any) -> None:
        with open(path, "wb") as f:
            f.write(self.data)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Image) and (self.format, self.mode, self.size) == (other.format, other.mode, other.size) \
            and bytes(self.data) == bytes(other.data)

    __hash__ = None  # type: ignore[assignment]

    def _repr_png_(self) -> Optional[bytes]:
        return bytes(self.data) if self.format == "png" else None

    def __repr__(self) -> str:
        return "Image(%s, %s, %dx%d, %d bytes)" % (self.format, self.mode, self.size[0], self.size[1], len(self.data))
