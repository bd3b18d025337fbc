"""From annotations to what they mean, and to JSON Schema 2020-12. A type that it does not know is {}: anything."""

import collections.abc
import enum
import numbers
import os
import pathlib
import types
import typing
from typing import Any, Callable, Dict, Optional, Tuple

from .arrays import Array, array
from .constraints import Constrained, notes_of
from .containers import Fixed, container
from .records import qualifier, record
from .scalars import enumeration, literal, parsed
from .types import ANYTHING, BOOL, FLOAT, INT, NONE, STR, Defs, Named, Node, Schema, Union

_SIMPLE: Dict[Any, Node] = {
    int: INT, float: FLOAT, str: STR, bool: BOOL, type(None): NONE, None: NONE, numbers.Integral: INT, numbers.Real: FLOAT,
    numbers.Number: FLOAT, getattr(typing, "LiteralString", str): STR}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_STREAMS = (collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator, collections.abc.AsyncIterator,
            collections.abc.AsyncIterable, collections.abc.AsyncGenerator)
_AWAITED = (collections.abc.Awaitable, collections.abc.Coroutine)


class Builder:
    """Builds the nodes of one function's annotations. namespace is where names that are left in them are looked up."""

    def __init__(self, namespace: Optional[Dict[str, Any]] = None) -> None:
        self._namespace = namespace or {}
        self._named: Dict[Any, Named] = {}

    def node(self, annotation: Any) -> Node:
        """Never fails: an annotation may be any object, and raise anything when it is looked at."""
        try:
            return self._build(annotation)
        except Exception:
            return ANYTHING

    def _build(self, t: Any) -> Node:
        if t is Any or t is object or t is typing.Optional:
            return ANYTHING
        if isinstance(t, typing.Hashable) and t in _SIMPLE:
            return _SIMPLE[t]
        if isinstance(t, (str, typing.ForwardRef)):
            return self._forward(t if isinstance(t, str) else t.__forward_arg__)
        if hasattr(t, "__metadata__"):
            return self._annotated(t)
        if hasattr(t, "__supertype__"):  # NewType
            return self._build(t.__supertype__)
        origin, args = typing.get_origin(t), typing.get_args(t)
        if origin is None and not isinstance(t, type):
            origin, args = getattr(t, "__origin__", None), getattr(t, "__args__", ())
        return self._special(t, origin, args) or self._class(origin or t, args)

    def _special(self, t: Any, origin: Any, args: Tuple[Any, ...]) -> Optional[Node]:
        if origin in _UNIONS:
            return self._union(args)
        if getattr(origin, "_name", "") == "Literal" or origin is typing.Literal:
            return literal(args)
        if origin is tuple and not args and t is not typing.Tuple:
            return Fixed([], tuple, 0)
        if qualifier(t):
            return self._build(args[0])
        if isinstance(t, typing.TypeVar):
            return self._union(t.__constraints__) if t.__constraints__ else self._build(t.__bound__) if t.__bound__ else ANYTHING
        alias = origin if hasattr(origin, "__value__") else t
        if hasattr(alias, "__value__") and hasattr(alias, "__type_params__"):  # type X = …
            value = alias.__value__
            found = self._once((alias, args), alias.__name__, lambda: self._build(value[args] if args else value))
            # npt.NDArray is such an alias in newer NumPy: each array has a shape of its own.
            return self._build(value[args] if args else value) if isinstance(found.target, Array) else found
        return None

    def _class(self, t: Any, args: Tuple[Any, ...]) -> Node:
        found = container(t, args, self.node) or parsed(t) or array(t, args)
        if found is not None:
            return found
        if isinstance(t, type) and issubclass(t, enum.Enum):
            return enumeration(t)
        if t is os.PathLike:
            return parsed(pathlib.Path) or ANYTHING
        return record(t, self.node, self._once) or ANYTHING

    def _union(self, args: Tuple[Any, ...]) -> Node:
        options = [self._build(a) for a in args]
        return ANYTHING if any(o.anything and not isinstance(o, Named) for o in options) else Union(options)

    def _annotated(self, t: Any) -> Node:
        inner, notes = self._build(t.__origin__), notes_of(t.__metadata__)
        if isinstance(inner, Array) and notes.texts:
            inner.shape = notes.texts.pop(0)
        said = notes.checks or notes.texts or notes.description or notes.title
        return Constrained(inner, notes) if said else inner

    def _once(self, key: Any, name: str, make: Callable[[], Node]) -> Named:
        if key not in self._named:
            self._named[key] = Named(name)
            self._named[key].set(make())
        return self._named[key]

    def _forward(self, name: str) -> Node:
        value = eval(name, dict(self._namespace))  # what typing.get_type_hints does, one level further down
        return self._once(("forward", name), name if name.isidentifier() else "Type", lambda: self._build(value))


def schema_of(annotation: Any) -> Schema:
    """The schema of a resolved annotation on its own."""
    return node_schema(Builder().node(annotation))


def node_schema(node: Node) -> Schema:
    """With the $defs that it needs."""
    defs = Defs()
    try:
        schema = node.schema(defs)
    except Exception:  # pydantic has no schema for some fields
        return {}
    return {**schema, "$defs": defs.found} if defs.found else schema


def origin_of(annotation: Any) -> Any:
    """list of list[int], and of list."""
    return typing.get_origin(annotation) or annotation


def element_of(annotation: Any) -> Any:
    """X of list[X] and its like; Any where there is none."""
    args = [a for a in typing.get_args(annotation) if not isinstance(a, typing.TypeVar)]
    return args[0] if args else Any


def result_of(annotation: Any, stream: bool, batch: bool) -> Any:
    """The annotation of what one caller gets: of an item of a generator, of one element of a batch."""
    while hasattr(annotation, "__metadata__") and (stream or batch):
        annotation = annotation.__origin__
    origin = origin_of(annotation)
    if origin in _AWAITED and typing.get_args(annotation):
        return result_of(typing.get_args(annotation)[-1], stream, batch)
    if stream:
        return element_of(annotation) if origin in _STREAMS else Any
    return element_of(annotation) if batch else annotation
