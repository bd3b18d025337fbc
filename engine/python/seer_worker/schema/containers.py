"""Lists, tuples, sets and dicts."""

import collections
import collections.abc
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple

from .types import ANYTHING, INT, STR, Defs, Misfit, Node, Schema

_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Collection,
          collections.abc.Reversible, collections.abc.Iterator, collections.abc.Generator, collections.abc.AsyncIterator,
          collections.abc.AsyncIterable, collections.abc.AsyncGenerator)
_SETS: Dict[Any, Any] = {set: set, frozenset: frozenset, collections.abc.Set: frozenset, collections.abc.MutableSet: set}
_DICTS: Dict[Any, Any] = {
    dict: dict, collections.abc.Mapping: dict, collections.abc.MutableMapping: dict, collections.OrderedDict: collections.OrderedDict,
    collections.defaultdict: lambda v: collections.defaultdict(None, v), collections.Counter: collections.Counter}
_LISTED = (list, tuple, set, frozenset, collections.deque, range)


def container(t: Any, args: Tuple[Any, ...], build: Callable[[Any], Node]) -> Optional[Node]:
    """The node of a container type, or None."""
    if not isinstance(t, typing.Hashable):
        return None
    if t in _LISTS:
        return Items(_element(args, build), list)
    if t is collections.deque:
        return Items(_element(args, build), collections.deque)
    if t in _SETS:
        return Items(_element(args, build), _SETS[t], unique=True)
    if t in _DICTS:
        if t is collections.Counter:
            return Mapping(build(args[0]) if args else STR, INT, _DICTS[t])
        keys, values = (build(args[0]), build(args[1])) if len(args) == 2 else (ANYTHING, ANYTHING)
        return Mapping(keys, values, _DICTS[t])
    if t is tuple:
        return _tuple(args, build)
    return None


def is_listed(t: Any) -> bool:
    """Whether a batch function may call a parameter so: what it gets is a list."""
    return t in (list, *_LISTS[1:6])


def _element(args: Tuple[Any, ...], build: Callable[[Any], Node]) -> Node:
    return build(args[0]) if args else ANYTHING


def _tuple(args: Tuple[Any, ...], build: Callable[[Any], Node]) -> Node:
    if not args:
        return Items(ANYTHING, tuple)
    if len(args) == 2 and args[1] is Ellipsis:
        return Items(build(args[0]), tuple)
    parts = [] if args == ((),) else [build(a) for a in args]
    return Fixed(parts, tuple, len(parts))


def listed(value: Any) -> Any:
    """A list or tuple; an array is taken apart."""
    if isinstance(value, _LISTED):
        return value
    if getattr(value, "shape", None) and callable(getattr(value, "tolist", None)):
        return value.tolist()
    return None


class Items(Node):
    """Any number of the same: list, set, deque, tuple[X, ...]."""

    def __init__(self, element: Node, make: Callable[[Any], Any], unique: bool = False) -> None:
        self._element, self._make, self._unique = element, make, unique
        self.expects = "a list"
        self.natural = frozenset([list, tuple] if make is list else [make]) if isinstance(make, type) else frozenset()
        self.tensors = element.tensors

    def schema(self, defs: Defs) -> Schema:
        items = self._element.schema(defs)
        schema: Schema = {"type": "array", "items": items} if items else {"type": "array"}
        return {**schema, "uniqueItems": True} if self._unique else schema

    def convert(self, value: Any) -> Any:
        values = listed(value)
        if values is None:
            raise Misfit(self.expects, value)
        element = self._element
        # Looking at the types alone runs at C's speed, and is all there is to do for most lists.
        if not element.anything and not set(map(type, values)) <= element.exact:
            values = self._each(values)
        if type(values) is self._make:
            return values
        try:
            made = self._make(values)
        except TypeError:  # not hashable
            raise Misfit("a list of values that can be in a set", value) from None
        if self._unique and len(made) != len(values):
            raise Misfit("a list without repetitions", value)
        return made

    def _each(self, values: Any) -> List[Any]:
        out: List[Any] = []
        convert = self._element.convert
        try:
            for value in values:
                out.append(convert(value))
        except Misfit as e:
            e.path.insert(0, "[%d]" % len(out))
            raise
        return out


class Fixed(Node):
    """A tuple of given parts; those from `needed` on may be missing. Named tuples have names for the parts."""

    def __init__(self, parts: List[Node], make: Callable[[Any], Any], needed: int, names: Tuple[str, ...] = ()) -> None:
        self._parts, self._make, self._needed, self._names = parts, make, needed, names
        self.expects = "a list of %s" % (len(parts) if needed == len(parts) else "%d to %d" % (needed, len(parts)))
        if names:
            self.expects += " (%s)" % ", ".join(names)
        self.natural = frozenset([make]) if isinstance(make, type) else frozenset()
        self.tensors = any(p.tensors for p in parts)

    def schema(self, defs: Defs) -> Schema:
        parts = [p.schema(defs) for p in self._parts]
        if self._names:
            parts = [{"title": name, **part} for name, part in zip(self._names, parts)]
        schema: Schema = {"type": "array"}
        if parts:
            schema["prefixItems"] = parts
        return {**schema, "minItems": self._needed, "maxItems": len(parts)}

    def convert(self, value: Any) -> Any:
        values = listed(value)
        if values is None or not self._needed <= len(values) <= len(self._parts):
            raise Misfit(self.expects, value, "" if values is None or len(values) <= 4 else " of %d" % len(values))
        out = []
        for part, v in zip(self._parts, values):
            try:
                out.append(part.convert(v))
            except Misfit as e:
                e.path.insert(0, "[%d]" % len(out))
                raise
        return self._make(out)


class Mapping(Node):
    """A dict. JSON's keys are text: others are read from it."""

    def __init__(self, keys: Node, values: Node, make: Callable[[Any], Any]) -> None:
        self._keys, self._values, self._make, self.expects = keys, values, make, "a dict"
        self.natural = frozenset([dict])
        self.tensors = values.tensors

    def schema(self, defs: Defs) -> Schema:
        schema: Schema = {"type": "object"}
        values = self._values.schema(defs)
        if values:
            schema["additionalProperties"] = values
        keys = self._keys.schema(defs)
        if keys.get("type") == "integer" and "enum" not in keys:
            schema["propertyNames"] = {"pattern": r"^-?\d+$"}
        elif "enum" in keys:
            schema["propertyNames"] = {"enum": [k if isinstance(k, str) else _json_key(k) for k in keys["enum"]]}
        elif keys.get("type") == "string" and len(keys) > 1:
            schema["propertyNames"] = {k: v for k, v in keys.items() if k != "type"}
        return schema

    def convert(self, value: Any) -> Any:
        if not isinstance(value, collections.abc.Mapping):
            raise Misfit(self.expects, value)
        keys = [self._key(k) for k in value]
        values = list(value.values())
        if not self._values.anything and not set(map(type, values)) <= self._values.exact:
            values = self._each(value)
        out = dict(zip(keys, values))
        return out if self._make is dict else self._make(out)

    def _key(self, key: Any) -> Any:
        if self._keys.anything or type(key) in self._keys.exact:
            return key
        try:
            return self._keys.convert(key)
        except Misfit as e:
            if isinstance(key, str):
                for read in _READ_KEYS:
                    try:
                        return self._keys.convert(read(key))
                    except (Misfit, ValueError, KeyError):
                        continue
            raise Misfit("a dict whose keys are %s" % e.expected, key, ", the key") from None

    def _each(self, value: Any) -> List[Any]:
        out: List[Any] = []
        for key, v in value.items():
            try:
                out.append(self._values.convert(v))
            except Misfit as e:
                e.path.insert(0, "[%s]" % (_quoted(key) if isinstance(key, str) else "%.60r" % (key,)))
                raise
        return out


_READ_KEYS: Tuple[Callable[[str], Any], ...] = (int, float, {"true": True, "false": False, "null": None}.__getitem__)


def _json_key(value: Any) -> str:
    return {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else repr(value)


def _quoted(key: str) -> str:
    return '"%s"' % (key if len(key) <= 60 else key[:60] + "…")
