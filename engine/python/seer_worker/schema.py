"""JSON Schema 2020-12 for the common types of annotations. A type it does not know is {}: anything."""

import collections.abc
import dataclasses
import enum
import types
import typing
from typing import Any, Dict, List, Tuple

Schema = Dict[str, Any]

_SIMPLE: Dict[Any, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null", None: "null"}
_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Collection)
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


def schema_of(annotation: Any) -> Schema:
    """The schema of a resolved annotation."""
    try:
        return _schema(annotation, ())
    except Exception:  # an annotation may be any object, and raise anything when it is looked at
        return {}


def hints_of(obj: Any) -> Dict[str, Any]:
    """The resolved annotations of a function or class; those that do not resolve are left out."""
    extras: Dict[str, Any] = {"include_extras": True} if hasattr(typing, "Annotated") else {}
    try:
        return typing.get_type_hints(obj, **extras)
    except Exception:  # one that does not resolve, or anything that evaluating it may raise
        return _hints_one_by_one(obj, extras)


def _hints_one_by_one(obj: Any, extras: Dict[str, Any]) -> Dict[str, Any]:
    namespace = getattr(obj, "__globals__", None) or vars(typing)
    found: Dict[str, Any] = {}
    for name, annotation in (getattr(obj, "__annotations__", None) or {}).items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            found.update(typing.get_type_hints(holder, namespace, **extras))
        except Exception:
            continue
    return found


def _schema(t: Any, inside: Tuple[Any, ...]) -> Schema:
    if t is Any or t is typing.Optional:
        return {}
    if isinstance(t, typing.Hashable) and t in _SIMPLE:
        return {"type": _SIMPLE[t]}
    origin, args = typing.get_origin(t), typing.get_args(t)
    if hasattr(t, "__metadata__"):  # Annotated
        return _annotated(t, inside)
    if origin in _UNIONS:
        return _union(args, inside)
    if origin is typing.Literal:
        return _enumeration(list(args))
    if hasattr(t, "__supertype__"):  # NewType
        return _schema(t.__supertype__, inside)
    return _container(origin or t, args, inside) or _class(t, inside)


def _annotated(t: Any, inside: Tuple[Any, ...]) -> Schema:
    schema = _schema(t.__origin__, inside)
    docs = [m for m in t.__metadata__ if isinstance(m, str)]
    return {**schema, "description": docs[0]} if docs else schema


def _union(args: Tuple[Any, ...], inside: Tuple[Any, ...]) -> Schema:
    options: List[Schema] = []
    for arg in args:
        option = _schema(arg, inside)
        if not option:
            return {}
        if option not in options:
            options.append(option)
    return options[0] if len(options) == 1 else {"anyOf": options}


def _enumeration(values: List[Any]) -> Schema:
    values = [v.value if isinstance(v, enum.Enum) else v for v in values]
    if not all(v is None or isinstance(v, (bool, int, float, str)) for v in values):
        return {}
    names = {_SIMPLE[type(v)] for v in values if type(v) in _SIMPLE}
    return {"type": names.pop(), "enum": values} if len(names) == 1 else {"enum": values}


def _container(t: Any, args: Tuple[Any, ...], inside: Tuple[Any, ...]) -> Schema:
    if t in _LISTS:
        return _array(args, inside)
    if t in _SETS:
        return {**_array(args, inside), "uniqueItems": True}
    if t in _DICTS:
        values = _schema(args[1], inside) if len(args) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if t is tuple:
        return _tuple(args, inside)
    return {}


def _array(args: Tuple[Any, ...], inside: Tuple[Any, ...]) -> Schema:
    items = _schema(args[0], inside) if args and not isinstance(args[0], typing.TypeVar) else {}
    return {"type": "array", "items": items} if items else {"type": "array"}


def _tuple(args: Tuple[Any, ...], inside: Tuple[Any, ...]) -> Schema:
    if not args:
        return {"type": "array"}
    if len(args) == 2 and args[1] is Ellipsis:
        return _array(args, inside)
    parts = [] if args == ((),) else [_schema(a, inside) for a in args]
    return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}


def _class(t: Any, inside: Tuple[Any, ...]) -> Schema:
    if not isinstance(t, type) or t in inside:  # a type that contains itself is described once
        return {}
    if issubclass(t, enum.Enum):
        return _enumeration([m.value for m in t])
    if dataclasses.is_dataclass(t):
        fields = [f for f in dataclasses.fields(t) if f.init]
        missing = dataclasses.MISSING
        required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
        return _object(t, [f.name for f in fields], required, inside)
    if hasattr(t, "__total__"):  # TypedDict
        names = list(t.__annotations__)
        required = getattr(t, "__required_keys__", names if t.__total__ else [])
        return _object(t, names, [n for n in names if n in required], inside)
    return {}


def _object(t: type, names: List[str], required: List[str], inside: Tuple[Any, ...]) -> Schema:
    hints = hints_of(t)
    schema: Schema = {"type": "object", "properties": {n: _schema(hints.get(n, Any), (*inside, t)) for n in names}}
    if required:
        schema["required"] = required
    return schema
