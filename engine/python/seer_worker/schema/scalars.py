"""Types whose values JSON writes as text or numbers: times, bytes, paths and their like; literals and enumerations."""

import base64
import binascii
import datetime
import decimal
import enum
import json
import pathlib
import re
import uuid
from typing import Any, Callable, Dict, List, Tuple

from .types import FLOAT, Defs, Misfit, Node, Schema, an, plain_scalar

_DURATION = re.compile(r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_DAYS = re.compile(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")  # as Python prints it
_DECIMAL = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_COMPLEX = r"^\(?[+-]?[0-9.]+([eE][+-]?\d+)?([+-][0-9.]+([eE][+-]?\d+)?)?j?\)?$"


class Parsed(Node):
    """A class whose values are also read from JSON."""

    def __init__(self, cls: type, expects: str, schema: Schema, *read: "Tuple[Tuple[type, ...], Callable[[Any], Any]]") -> None:
        self._cls, self.expects, self._schema, self._read = cls, expects, schema, read
        self.exact = self.natural = frozenset([cls])

    def schema(self, defs: Defs) -> Schema:
        return dict(self._schema)

    def convert(self, value: Any) -> Any:
        if isinstance(value, self._cls):
            return value
        value = plain_scalar(value)
        for types, read in self._read:
            if isinstance(value, types) and not isinstance(value, bool):
                try:
                    return read(value)
                except (ValueError, ArithmeticError, TypeError, binascii.Error):
                    break
        raise Misfit(self.expects, value)


def parsed(t: Any) -> "Node | None":
    """The node of one of these classes, or None."""
    return _PARSED.get(t) if isinstance(t, type) else None


def _zone(text: str) -> str:
    return text[:-1] + "+00:00" if text[-1:] in "Zz" else text  # before Python 3.11, Z is not read


def _timedelta(text: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(text)
    if match and len(text.lstrip("+-")) > 1 and not text.endswith("T"):
        sign, *parts = match.groups()
        weeks, days, hours, minutes, seconds = (float(p or 0) for p in parts)
        found = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        return -found if sign == "-" else found
    match = _DAYS.fullmatch(text)
    if not match:
        raise ValueError(text)
    return datetime.timedelta(*(float(p or 0) for p in (match.group(1), 0, 0, 0, match.group(3), match.group(2)))) + \
        datetime.timedelta(seconds=float(match.group(4)))


def read_base64(text: str) -> bytes:
    """Also of a data URL."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    return base64.b64decode(text, validate=True)


def _from_base64(make: Callable[[bytes], Any]) -> Callable[[str], Any]:
    return lambda text: make(read_base64(text))


def _decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, str) and not re.match(_DECIMAL, value):
        raise ValueError(value)
    return decimal.Decimal(str(value))


def _complex(value: Any) -> complex:
    return complex(value.replace(" ", "")) if isinstance(value, str) else complex(value)


def _text(fmt: str) -> Schema:
    return {"type": "string", "format": fmt}


_NUMBERS = (int, float)
_BINARY = (bytes, bytearray, memoryview)
_BASE64: Schema = {"type": "string", "contentEncoding": "base64"}
_PATH: Schema = {"type": "string", "format": "path"}
_PARSED: Dict[type, Node] = {
    datetime.datetime: Parsed(datetime.datetime, "a time as in 2026-01-31T10:00:00+00:00", _text("date-time"),
                              ((str,), lambda v: datetime.datetime.fromisoformat(_zone(v)))),
    datetime.date: Parsed(datetime.date, "a day as in 2026-01-31", _text("date"), ((str,), datetime.date.fromisoformat)),
    datetime.time: Parsed(datetime.time, "a time of the day as in 10:00:00", _text("time"),
                          ((str,), lambda v: datetime.time.fromisoformat(_zone(v)))),
    datetime.timedelta: Parsed(datetime.timedelta, "a number of seconds, or a duration as in PT1H30M",
                               {"anyOf": [{"type": "number"}, _text("duration")]},
                               (_NUMBERS, lambda v: datetime.timedelta(seconds=v)), ((str,), _timedelta)),
    decimal.Decimal: Parsed(decimal.Decimal, "a decimal number as in \"1.10\"",
                            {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _DECIMAL}]}, ((*_NUMBERS, str), _decimal)),
    complex: Parsed(complex, "a complex number as in \"1+2j\"", {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _COMPLEX}]},
                    ((*_NUMBERS, str), _complex)),
    uuid.UUID: Parsed(uuid.UUID, "a UUID", _text("uuid"), ((str,), uuid.UUID)),
    **{cls: Parsed(cls, "bytes (base64 in JSON)", _BASE64, ((str,), _from_base64(cls)), (_BINARY, cls))
       for cls in (bytes, bytearray, memoryview)},
    **{cls: Parsed(cls, "a path", _PATH, ((str, pathlib.PurePath), cls))
       for cls in (pathlib.Path, pathlib.PurePath, pathlib.PurePosixPath)},
}


class Choice(Node):
    """A Literal or an Enum: one of a few values, which may stand for something else."""

    def __init__(self, choices: List[Tuple[Any, Any]], kind: str = "") -> None:
        self._choices = {_key(said): meant for said, meant in choices}
        self._said = [said for said, _ in choices]
        self._members = tuple(meant for _, meant in choices if isinstance(meant, enum.Enum))
        names = [json.dumps(s, ensure_ascii=False) if isinstance(s, str) else repr(s) for s in self._said]
        self.expects = ("one of %s" % ", ".join(names) if len(names) != 1 else names[0]) + (" (%s)" % kind if kind else "")
        self.natural = frozenset(map(type, self._said))

    def schema(self, defs: Defs) -> Schema:
        names = {_KINDS[type(v)] for v in self._said}
        return {"type": names.pop(), "enum": list(self._said)} if len(names) == 1 else {"enum": list(self._said)}

    def convert(self, value: Any) -> Any:
        if isinstance(value, enum.Enum) and any(value is m for m in self._members):
            return value
        value = plain_scalar(value)
        try:
            return self._choices[_key(value)]
        except (KeyError, TypeError):
            raise Misfit(self.expects, value) from None


_KINDS = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}


def _key(value: Any) -> Tuple[type, Any]:
    """True is not 1, but 1.0 is."""
    if isinstance(value, str):
        return str, str.__str__(value)
    if isinstance(value, float) and value.is_integer():
        return int, int(value)
    return type(value), value


def literal(values: Tuple[Any, ...]) -> Node:
    """A Literal, whose members may be of an Enum."""
    said = [(_plain(v.value) if isinstance(v, enum.Enum) else v, v) for v in values]
    return Choice(said) if all(type(s) in _KINDS for s, _ in said) else Node()


def enumeration(cls: Any) -> Node:
    """An Enum is written as its values are; by its names where JSON cannot say one of them."""
    if issubclass(cls, enum.Flag):
        return _Flag(cls)
    said = [(_plain(m.value), m) for m in cls]
    if not all(type(s) in _KINDS for s, _ in said):
        said = [(m.name, m) for m in cls]
    return Choice(said, cls.__name__) if said else Node()


def _plain(value: Any) -> Any:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value) if kind is not str else str.__str__(value)
    return value


class _Flag(Node):
    def __init__(self, cls: Any) -> None:
        self._cls, self.expects = cls, "an int that stands for %s" % cls.__name__

    def schema(self, defs: Defs) -> Schema:
        return {"type": "integer"}

    def convert(self, value: Any) -> Any:
        try:
            return value if isinstance(value, self._cls) else self._cls(_whole(value))
        except (ValueError, TypeError):
            raise Misfit(self.expects, value) from None


def _whole(value: Any) -> int:
    value = plain_scalar(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise ValueError(value)
    return int(value)


class NumpyScalar(Node):
    """np.float32 and its like, as the annotation of one number."""

    def __init__(self, cls: Any, kind: str) -> None:
        self._cls, self._kind, self.expects = cls, kind, an(cls.__name__)

    def schema(self, defs: Defs) -> Schema:
        return {"type": self._kind}

    def convert(self, value: Any) -> Any:
        if isinstance(value, self._cls):
            return value
        value = plain_scalar(value)
        try:
            if self._kind == "boolean" and not isinstance(value, bool):
                raise Misfit(self.expects, value)
            plain = value if self._kind == "boolean" else FLOAT.convert(value) if self._kind == "number" else _whole(value)
            return self._cls(plain) if callable(self._cls) else plain
        except (Misfit, ValueError, TypeError, OverflowError):
            raise Misfit(self.expects, value) from None
