"""What Annotated adds to a type: bounds, lengths and patterns of annotated_types, pydantic and msgspec, and plain text.

They are known by the names of their attributes, so that none of these packages is needed.
"""

import datetime
import decimal
import operator
import re
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ..policy.patterns import matcher
from .types import Defs, Misfit, Node, Schema

_BOUNDS: Dict[str, Tuple[str, str, Callable[[Any, Any], bool]]] = {
    "gt": ("exclusiveMinimum", "greater than", operator.gt), "ge": ("minimum", "at least", operator.ge),
    "lt": ("exclusiveMaximum", "less than", operator.lt), "le": ("maximum", "at most", operator.le)}
_LENGTHS = {"min_length": ("min", "at least"), "max_length": ("max", "at most"),
            "min_items": ("min", "at least"), "max_items": ("max", "at most")}
_COUNTED = {"string": "Length", "array": "Items", "object": "Properties"}
_COMPARABLE = (int, float, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)


class Check(NamedTuple):
    expected: str
    holds: Callable[[Any], bool]  # a TypeError means that it says nothing about such a value


class Notes(NamedTuple):
    """All that the metadata of one Annotated says."""

    checks: List[Check]
    keywords: Dict[str, Any]
    lengths: Dict[str, int]  # min and max
    texts: List[str]  # plain strings
    description: str
    title: str


def notes_of(metadata: Tuple[Any, ...]) -> Notes:
    notes = Notes([], {}, {}, [], "", "")
    for m in metadata:
        notes = _add(notes, m)
    return notes


def _add(notes: Notes, m: Any) -> Notes:
    if isinstance(m, str):
        notes.texts.append(m)
        return notes
    if isinstance(m, type) or m is None:
        return notes
    for name in _BOUNDS:
        bound = getattr(m, name, None)
        if isinstance(bound, _COMPARABLE) and not isinstance(bound, bool):
            _bound(notes, name, bound)
    for name in _LENGTHS:
        count = getattr(m, name, None)
        if isinstance(count, int) and count >= 0 and not (name == "min_length" and count == 0):
            _length(notes, name, count)
    _others(notes, m)
    for part in getattr(m, "metadata", None) or ():  # of pydantic's Field
        notes = _add(notes, part)
    said = [getattr(m, name, None) for name in ("description", "documentation", "title")]
    text, title = said[0] or said[1], said[2]
    return notes._replace(description=text if isinstance(text, str) and text else notes.description,
                          title=title if isinstance(title, str) and title else notes.title)


def _bound(notes: Notes, name: str, bound: Any) -> None:
    keyword, words, compare = _BOUNDS[name]
    notes.checks.append(Check("%s %s" % (words, bound), lambda v: compare(_number(v, bound), bound)))
    if isinstance(bound, (int, float)) and bound - bound == 0:
        notes.keywords[keyword] = bound


def _number(value: Any, bound: Any) -> Any:
    """Bounds say nothing about values that are not numbers, nor about truth values."""
    if isinstance(value, bool) or not isinstance(value, _COMPARABLE):
        raise TypeError
    return value


def _length(notes: Notes, name: str, count: int) -> None:
    side, words = _LENGTHS[name]
    compare = operator.ge if side == "min" else operator.le
    notes.checks.append(Check("%s %d long" % (words, count), lambda v: compare(len(v), count)))
    notes.lengths[side] = count


def _others(notes: Notes, m: Any) -> None:
    step = getattr(m, "multiple_of", None)
    if isinstance(step, (int, float)) and step > 0:
        notes.checks.append(Check("a multiple of %s" % step, lambda v: _is_multiple(_number(v, step), step)))
        notes.keywords["multipleOf"] = step
    pattern = getattr(m, "pattern", None) or getattr(m, "regex", None)
    pattern = getattr(pattern, "pattern", pattern)
    if isinstance(pattern, str) and pattern:
        notes.checks.append(Check("text that matches %s" % pattern, _finder(pattern)))
        notes.keywords["pattern"] = pattern
    func = getattr(m, "func", None)
    if callable(func) and type(m).__name__ == "Predicate":
        notes.checks.append(Check("what %s accepts" % getattr(func, "__name__", "its predicate"), lambda v: bool(func(v))))


def _finder(pattern: str) -> Callable[[Any], bool]:
    """Whether a text has the pattern. Lookahead and the like, which an interface may use and a token may not, need `re`."""
    try:
        return matcher(pattern)
    except re.error:
        search = re.compile(pattern, re.ASCII).search
        return lambda text: search(text) is not None


def _is_multiple(value: Any, step: Any) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    quotient = float(value) / float(step)
    return quotient.is_integer()


class Constrained(Node):
    """A type with bounds."""

    def __init__(self, inner: Node, notes: Notes) -> None:
        self._inner, self._notes = inner, notes
        self.expects, self.natural, self.tensors = inner.expects, inner.natural, inner.tensors
        if not notes.checks:
            self.exact = inner.exact

    @property
    def anything(self) -> bool:
        return self._inner.anything and not self._notes.checks

    def schema(self, defs: Defs) -> Schema:
        schema = dict(self._inner.schema(defs))
        for keyword, value in self._keywords(schema).items():
            schema[keyword] = value
        description = self._notes.description or (self._notes.texts[0] if self._notes.texts else "")
        if description:
            schema["description"] = description
        if self._notes.title:
            schema["title"] = self._notes.title
        return schema

    def take_shape(self, shape: str) -> None:
        self._inner.take_shape(shape)

    def _keywords(self, schema: Schema) -> Schema:
        keywords = dict(self._notes.keywords)
        kinds = {k for s in (schema, *schema.get("anyOf", ())) if "contentEncoding" not in s for k in _types(s)}
        for kind in _COUNTED:
            if kind in kinds:
                keywords.update({side + _COUNTED[kind]: count for side, count in self._notes.lengths.items()})
        return keywords

    def convert(self, value: Any) -> Any:
        value = self._inner.convert(value)
        for check in self._notes.checks:
            try:
                holds = check.holds(value)
            except TypeError:
                continue
            except Exception:  # of a predicate's own code
                holds = False
            if not holds:
                raise Misfit(check.expected, value)
        return value


def _types(schema: Schema) -> List[str]:
    kind = schema.get("type", ())
    return [kind] if isinstance(kind, str) else list(kind)
