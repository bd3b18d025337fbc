"""Values: what arguments and results look like on the wire. docs/protocol.md, section 4."""

import collections
import collections.abc
import dataclasses
import enum
import json
import math
from typing import Any, Callable, Dict, List, NamedTuple, Set

TAG = "$seer"
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SEQUENCES = (collections.deque, range, collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView)


class Unserialisable(Exception):
    """A value, or a part of it at path, has no form on the wire."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path: List[str] = []

    def at(self, root: str) -> str:
        return "%s%s %s" % (root, "".join(self.path), self.what)


class Encoded(NamedTuple):
    data: bytes
    tagged: bool


def encode(value: Any, scrub: Callable[[str], str] = str, secrets: "tuple[str, ...]" = ()) -> Encoded:
    """Writes a value; scrub is applied to its strings if one of secrets shows up in the text."""
    try:
        text = _encode(value)
        if TAG not in text and not any(s in text for s in secrets):
            return Encoded(text.encode("utf-8"), False)
    except Unserialisable:
        pass
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass  # found again below, with its place
    converter = _Converter(scrub)
    try:
        plain = converter.convert(value)
        try:
            return Encoded(_encode(plain).encode("utf-8"), converter.tagged)
        except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, but an escape
            return Encoded(_encode_ascii(plain).encode("ascii"), converter.tagged)
    except RecursionError:
        raise Unserialisable("is nested too deeply to be sent") from None


def decode(value: Any) -> Any:
    """Undoes the tags of a value that was marked as tagged."""
    if type(value) is list:
        return [decode(v) for v in value]
    if type(value) is not dict:
        return value
    if TAG not in value or len(value) != 1:
        return {k: decode(v) for k, v in value.items()}
    tag = value[TAG]
    if type(tag) is dict and len(tag) == 1:
        if type(tag.get("dict")) is dict:
            return {k: decode(v) for k, v in tag["dict"].items()}
        if tag.get("float") in ("nan", "inf", "-inf"):
            return _FLOATS[tag["float"]]
    raise ValueError("an unknown tag: %.80r" % (tag,))


def plain(value: Any) -> Any:
    """One step from a common Python type to what JSON knows; Unserialisable for all others."""
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, _SEQUENCES):
        return list(value)
    raise Unserialisable("is %s, which cannot be sent; %s" % (_article(type_name(type(value))), _hint(value)))


_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=plain).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class _Converter:
    """The slow way: element by element, to write tags, scrub strings or find the offender."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        self.tagged = False
        self._scrub = scrub
        self._open: Set[int] = set()

    def convert(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._scrub(str.__str__(value))
        if isinstance(value, int):
            return _checked_int(value)
        if isinstance(value, float):
            return self._float(float(value))
        if id(value) in self._open:
            raise Unserialisable("contains itself, which cannot be sent")
        self._open.add(id(value))
        try:
            if isinstance(value, dict):
                return self._dict(value)
            if isinstance(value, (list, tuple)):
                return self._list(value)
            return self.convert(plain(value))
        finally:
            self._open.discard(id(value))

    def _float(self, value: float) -> Any:
        if math.isfinite(value):
            return value
        self.tagged = True
        return {TAG: {"float": "nan" if value != value else "inf" if value > 0 else "-inf"}}

    def _list(self, values: Any) -> List[Any]:
        out: List[Any] = []
        try:
            for value in values:
                out.append(self.convert(value))
        except Unserialisable as e:
            e.path.insert(0, "[%d]" % len(out))
            raise
        return out

    def _dict(self, values: Dict[Any, Any]) -> Dict[str, Any]:
        out: Dict[str, Any] = {}
        for key, value in values.items():
            name = _key(key)
            try:
                out[self._scrub(name)] = self.convert(value)
            except Unserialisable as e:
                e.path.insert(0, "[%.80r]" % (key,) if not isinstance(key, str) else "[%s]" % json.dumps(key)[:80])
                raise
        if TAG in out:
            self.tagged = True
            return {TAG: {"dict": out}}
        return out


def _checked_int(value: int) -> int:
    value = int(value)
    if value.bit_length() > 14000:  # about 4200 digits: what newer Pythons are willing to read
        raise Unserialisable("is an int of %d bits, which is too large to be sent; use hex()" % value.bit_length())
    return value


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is True or key is False or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, int):
        return int.__repr__(_checked_int(key))
    if isinstance(key, float) and math.isfinite(key):
        return float.__repr__(key)
    raise Unserialisable("has the key %.80r, %s, and keys must be strings or numbers" % (key, _article(type_name(type(key)))))


def type_name(cls: type) -> str:
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", "__main__") else "%s.%s" % (module, cls.__qualname__)


def _article(name: str) -> str:
    return ("an " if name[:1] in "aeiouAEIOU" else "a ") + name


def _hint(value: Any) -> str:
    if callable(getattr(value, "tolist", None)):
        return "use .tolist()" if getattr(value, "shape", None) else "use .item()"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "use base64.b64encode(…).decode(), or .decode() for text"
    if isinstance(value, collections.abc.Coroutine):
        return "await it"
    if isinstance(value, collections.abc.Iterator):
        return "use list(…)"
    if callable(getattr(value, "isoformat", None)):
        return "use .isoformat()"
    if callable(getattr(value, "to_dict", None)):
        return "use .to_dict()"
    if callable(getattr(value, "__fspath__", None)):
        return "use str(…)"
    return "return lists, dicts, strings and numbers"

# The API that is being built (values*.py; docs/protocol.md, section 4). In one-file programs the modules are joined in
# this order: values_types, values_body, values_encode, values_pandas, values_decode, values.
#
#   encode(value, scrub=str, secrets=()) -> Encoded(data, tagged, buffers)     as now; raises Unserialisable (.at("result"))
#       Encoded.data: bytes, the JSON; .tagged; .buffers: the other parts, memoryviews of the caller's own memory
#       Encoded.body(deflate=False) -> list of buffers for sendmsg;  Encoded.size -> bytes of body() without deflate
#   value_parts(body) -> parts;  BodyReader(size)                               values_body.py
#   decode(parts, tagged, handle=None, tensors=False) -> value                  parts: list of buffers, or the JSON bytes alone
#   untag(value, parts=(), handle=None, tensors=False) -> value                 the same for JSON that has been loaded
#       handle(info: dict) -> object for a handle tag; without it a HandleRef
#       tensors=True: arrays of lib "torch" become torch tensors; otherwise NumPy arrays, or Array without NumPy
#   Array(dtype, shape, data, lib), Image(format, mode, size, data), DataFrame(…), Series(…), HandleRef(info)
#   An object with the method __seer_handle__() -> dict (with "id") is sent as a handle.
#   All that is malformed is a ValueError.
