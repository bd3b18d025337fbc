"""Bounds of an argument: the part of JSON Schema that a token may use. docs/protocol.md, section 9."""

import enum
import math
import re
from collections.abc import Mapping as AnyMapping
from decimal import Decimal
from numbers import Real
from typing import Any, Callable, Dict, Mapping, Optional

from .patterns import TooLong, matcher

_Test = Callable[[Any], Optional[str]]  # what is wrong with a value, if something is

_NUMBERS = (Real, Decimal)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def compile(schema: Any) -> _Test:
    """A test for values; ValueError where the schema has something else in it."""
    if type(schema) is not dict:
        raise ValueError("the bounds of an argument are %s and must be an object" % type(schema).__name__)
    tests = []
    for keyword, bound in schema.items():
        make = _KEYWORDS.get(keyword)
        if make is None:
            raise ValueError("the bounds of an argument may not have %r; they may have %s" % (keyword, ", ".join(sorted(_KEYWORDS))))
        tests.append(make(bound))

    def test(value: Any) -> Optional[str]:
        if getattr(value, "shape", None) == () and hasattr(value, "item"):
            value = value.item()  # an array without axes is a number
        if isinstance(value, enum.Enum):
            value = value.value
        for one in tests:
            wrong = one(value)
            if wrong is not None:
                return wrong
        return None

    return test


def kind_of(value: Any) -> str:
    """The type of a value in the words of JSON Schema; arrays of NumPy and the like are arrays."""
    if value is None:
        return "null"
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "boolean"
    if isinstance(value, _NUMBERS):
        whole = math.isfinite(value) and float(value).is_integer() if not isinstance(value, int) else True
        return "integer" if whole else "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, AnyMapping):
        return "object"
    return "array" if hasattr(value, "__len__") else "object"


def _type(bound: Any) -> _Test:
    allowed = bound if type(bound) is list else [bound]
    if not allowed or any(t not in TYPES for t in allowed):
        raise ValueError("type must be of %s, and is %r" % (", ".join(TYPES), bound))

    def test(value: Any) -> Optional[str]:
        kind = kind_of(value)
        if kind in allowed or kind == "integer" and "number" in allowed:
            return None
        return "must be of type %s" % " or ".join(allowed)

    return test


def _enum(bound: Any) -> _Test:
    if type(bound) is not list or not bound:
        raise ValueError("enum must be a list with something in it")
    return lambda value: None if any(_same(value, b) for b in bound) else "must be one of %s" % _short(bound)


def _const(bound: Any) -> _Test:
    return lambda value: None if _same(value, bound) else "must be %s" % _short(bound)


def _same(value: Any, bound: Any) -> bool:
    """As JSON Schema compares: 1 is 1.0, and not true. An array of NumPy is compared as a list."""
    if isinstance(bound, list):
        return (kind_of(value) == "array" and not isinstance(value, (set, frozenset)) and len(value) == len(bound)
                and all(_same(v, b) for v, b in zip(value, bound)))
    if isinstance(bound, dict):
        return isinstance(value, AnyMapping) and set(value) == set(bound) and all(_same(value[k], b) for k, b in bound.items())
    same_kind = (kind_of(value) == "boolean") == isinstance(bound, bool)
    try:
        return same_kind and bool(value == bound)
    except (TypeError, ValueError):  # an array and a number
        return False


def _number(words: str, holds: Callable[[Any, Any], bool]) -> Callable[[Any], _Test]:
    def make(bound: Any) -> _Test:
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise ValueError("a bound of numbers must be a number, and is %r" % (bound,))
        wrong = "must be %s %s" % (words, _short(bound))

        def test(value: Any) -> Optional[str]:  # NaN keeps no bound
            return None if isinstance(value, bool) or not isinstance(value, _NUMBERS) or holds(value, bound) else wrong

        return test

    return make


def _length(words: str, of: Callable[[Any], bool], holds: Callable[[int, int], bool]) -> Callable[[Any], _Test]:
    def make(bound: Any) -> _Test:
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
            raise ValueError("a bound of lengths must be a whole number, and is %r" % (bound,))
        return lambda value: None if not of(value) or holds(len(value), bound) else words % bound

    return make


def _pattern(bound: Any) -> _Test:
    if type(bound) is not str:
        raise ValueError("pattern must be a text")
    try:
        found = matcher(_to_the_end(bound))
    except (re.error, RecursionError) as e:
        raise ValueError("the pattern %r is not one: %s" % (bound, e)) from None

    def test(value: Any) -> Optional[str]:
        try:
            return None if not isinstance(value, str) or found(value) else "must match the pattern %s" % bound
        except TooLong as e:
            return str(e)

    return test


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\$", re.DOTALL)


def _to_the_end(pattern: str) -> str:
    """$ as JSON Schema means it: not before a last line break. What is escaped, or in brackets, is passed over."""
    return _TOKEN.sub(lambda m: r"\Z" if m.group() == "$" else m.group(), pattern)


def _items(bound: Any) -> _Test:
    test = compile(bound)

    def all_items(value: Any) -> Optional[str]:
        if not _is_array(value):
            return None
        for i, item in enumerate(value):
            wrong = test(item)
            if wrong is not None:
                return "%s at [%d]" % (wrong, i)
        return None

    return all_items


def _is_array(value: Any) -> bool:
    return kind_of(value) == "array"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


_KEYWORDS: Dict[str, Callable[[Any], _Test]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _number("at least", lambda v, b: v >= b),
    "maximum": _number("at most", lambda v, b: v <= b),
    "exclusiveMinimum": _number("more than", lambda v, b: v > b),
    "exclusiveMaximum": _number("less than", lambda v, b: v < b),
    "minLength": _length("must have at least %d characters", _is_text, lambda n, b: n >= b),
    "maxLength": _length("must have at most %d characters", _is_text, lambda n, b: n <= b),
    "pattern": _pattern,
    "minItems": _length("must have at least %d items", _is_array, lambda n, b: n >= b),
    "maxItems": _length("must have at most %d items", _is_array, lambda n, b: n <= b),
    "items": _items,
}


def strict(schema: Any) -> Any:
    """The schema as a limit: a bound of numbers allows nothing but numbers, where type does not say what else may come."""
    if type(schema) is not dict:
        return schema
    out = {k: strict(v) if k == "items" else v for k, v in schema.items()}
    implied = {_IMPLIED[k]: None for k in schema if k in _IMPLIED}
    return {"type": list(implied), **out} if implied else out


def compile_all(arguments: Mapping[str, Mapping[str, Any]]) -> Dict[str, Dict[str, _Test]]:
    """The tests of a token: for each function those of its parameters."""
    return {function: {name: compile(strict(schema)) for name, schema in parameters.items()} for function, parameters in arguments.items()}


_IMPLIED = {
    "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "minLength": "string",
    "maxLength": "string", "pattern": "string", "minItems": "array", "maxItems": "array", "items": "array"}
