"""Types with named fields: dataclasses, TypedDict, named tuples, pydantic models."""

import collections.abc
import dataclasses
import sys
import types
import typing
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Tuple

from .containers import Fixed
from .types import ANYTHING, Defs, Misfit, Node, Schema


def hints_of(obj: Any) -> Dict[str, Any]:
    """The resolved annotations of a function or class; those that do not resolve are left out."""
    extras: Dict[str, Any] = {"include_extras": True} if hasattr(typing, "Annotated") else {}
    try:
        return typing.get_type_hints(obj, **extras)
    except Exception:  # one that does not resolve, or anything that evaluating it may raise
        return _one_by_one(obj, extras)


def _one_by_one(obj: Any, extras: Dict[str, Any]) -> Dict[str, Any]:
    namespace = getattr(obj, "__globals__", None) or vars(sys.modules.get(getattr(obj, "__module__", ""), typing))
    found: Dict[str, Any] = {}
    for name, annotation in (getattr(obj, "__annotations__", None) or {}).items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            found.update(typing.get_type_hints(holder, namespace, **extras))
        except Exception:
            continue
    return found


Build = Callable[[Any], Node]


def record(t: Any, build: Build, named: Callable[[Any, str, Callable[[], Node]], Node]) -> Optional[Node]:
    """The node of a class with fields, or None. named makes it once, however often it is inside itself."""
    if not isinstance(t, type):
        return None
    make = _maker(t)
    return None if make is None else named(t, t.__name__, lambda: make(t, build))


def _maker(t: Any) -> "Optional[Callable[[Any, Build], Node]]":
    if callable(getattr(t, "model_json_schema", None)) and callable(getattr(t, "model_validate", None)):
        return lambda t, _: Pydantic(t, t.model_validate, _schema_v2)
    if callable(getattr(t, "parse_obj", None)) and hasattr(t, "__fields__"):
        return lambda t, _: Pydantic(t, t.parse_obj, _schema_v1)
    if dataclasses.is_dataclass(t):
        return _dataclass
    if issubclass(t, tuple) and hasattr(t, "_fields"):
        return _named_tuple
    if issubclass(t, dict) and hasattr(t, "__total__"):
        return _typed_dict
    return None


class Record(Node):
    """An object with given keys."""

    def __init__(
        self, cls: Any, fields: Dict[str, Node], required: FrozenSet[str], closed: bool, make: Callable[..., Any], what: str,
    ) -> None:
        self._cls, self._fields, self._required, self._closed, self._make, self._what = cls, fields, required, closed, make, what
        self.expects = "a dict with the %s of %s" % (what, cls.__name__)
        self.natural = frozenset([dict, cls])
        self.tensors = any(f.tensors for f in fields.values())

    def schema(self, defs: Defs) -> Schema:
        schema: Schema = {"type": "object", "properties": {n: f.schema(defs) for n, f in self._fields.items()}}
        if self._required:
            schema["required"] = [n for n in self._fields if n in self._required]
        if self._closed:
            schema["additionalProperties"] = False
        return schema

    def convert(self, value: Any) -> Any:
        if self._make is not dict and isinstance(value, self._cls):
            return value
        if not isinstance(value, collections.abc.Mapping):
            raise Misfit(self.expects, value)
        missing = [n for n in self._fields if n in self._required and n not in value]
        if missing:
            raise Misfit(self.expects, value, ' without "%s"' % missing[0])
        out = {}
        for name, v in value.items():
            field = self._fields.get(name)
            if field is None and self._closed:
                raise Misfit(self.expects, value, ' with the unknown "%s"' % name)
            try:
                out[name] = v if field is None else field.convert(v)
            except Misfit as e:
                e.path.insert(0, '["%s"]' % name)
                raise
        return self._made(out)

    def _made(self, out: Dict[str, Any]) -> Any:
        if self._make is dict:
            return out
        try:
            return self._make(**out)
        except Exception as e:  # what its own code says about the values
            raise Misfit("what %s accepts" % self._cls.__name__, out, ": %s" % e) from e


def _dataclass(t: Any, build: Build) -> Node:
    hints = hints_of(t)
    fields: Dict[str, Node] = {}
    required = []
    for f in t.__dataclass_fields__.values():
        kind = getattr(getattr(f, "_field_type", None), "name", "")
        if not f.init or kind == "_FIELD_CLASSVAR":
            continue
        hint = hints.get(f.name, Any)
        fields[f.name] = build(getattr(hint, "type", Any) if kind == "_FIELD_INITVAR" else hint)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            required.append(f.name)
    return Record(t, fields, frozenset(required), True, t, "fields")


def _typed_dict(t: Any, build: Build) -> Node:
    hints, inherited = hints_of(t), dict(t.__annotations__)
    names = list({**inherited, **hints})
    required = _required_keys(t, hints)
    closed = getattr(t, "__closed__", None) is True
    return Record(t, {n: build(hints.get(n, Any)) for n in names}, required, closed, dict, "keys")


def _required_keys(t: Any, hints: Dict[str, Any]) -> FrozenSet[str]:
    """With text for annotations Python does not see Required and NotRequired; they show once these are resolved."""
    required = set(getattr(t, "__required_keys__", hints if t.__total__ else ()))
    for name, hint in hints.items():
        mark = qualifier(hint)
        while mark == "ReadOnly":
            hint = typing.get_args(hint)[0]
            mark = qualifier(hint)
        if mark == "Required":
            required.add(name)
        elif mark == "NotRequired":
            required.discard(name)
    return frozenset(required)


def qualifier(t: Any) -> str:
    """Required, NotRequired and their like, of typing or typing_extensions; otherwise empty."""
    name = getattr(typing.get_origin(t) or getattr(t, "__origin__", None), "_name", "")
    return name if name in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar", "Unpack") else ""


def _named_tuple(t: Any, build: Build) -> Node:
    hints = hints_of(t)
    needed = len(t._fields) - len(getattr(t, "_field_defaults", {}))
    return Fixed([build(hints[n]) if n in hints else ANYTHING for n in t._fields], _Make(t), needed, tuple(t._fields))


class _Make:
    """Named tuples take their parts one by one."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __call__(self, parts: List[Any]) -> Any:
        return self._cls(*parts)


class Pydantic(Node):
    """A model of pydantic, which checks and converts itself."""

    def __init__(self, cls: Any, validate: Callable[[Any], Any], schema: "Callable[[Any], Tuple[Schema, Dict[str, Schema]]]") -> None:
        self._cls, self._validate, self._schema = cls, validate, schema
        self.expects = "a dict with the fields of %s" % cls.__name__
        self.natural = frozenset([dict, cls])

    def schema(self, defs: Defs) -> Schema:
        schema, parts = self._schema(self._cls)
        names = {}
        for name, part in parts.items():
            same = defs.found.get(name) == part
            names[name] = name if same else defs.free(name)
            defs.found[names[name]] = part
        for old, new in names.items():
            defs.found[new] = _renamed(defs.found[new], names) if old != new or len(names) > 1 else defs.found[new]
        return dict(_renamed(schema, names))

    def convert(self, value: Any) -> Any:
        if isinstance(value, self._cls):
            return value
        try:
            return self._validate(value)
        except Exception as e:
            details = getattr(e, "errors", None)
            errors = details() if callable(details) else []
            if not errors:
                raise Misfit("what %s accepts" % self._cls.__name__, value, ": %s" % e) from e
            first = errors[0]
            place = "".join("[%d]" % p if isinstance(p, int) else '["%s"]' % p for p in first.get("loc", ()))
            raise Misfit(self.expects, value, ": %s %s" % (place or "it", first.get("msg", e))) from e


def _schema_v2(cls: Any) -> "Tuple[Schema, Dict[str, Schema]]":
    schema = dict(cls.model_json_schema(ref_template="#/$defs/{model}"))
    return schema, schema.pop("$defs", {})


def _schema_v1(cls: Any) -> "Tuple[Schema, Dict[str, Schema]]":
    schema = dict(cls.schema(ref_template="#/$defs/{model}"))
    return schema, schema.pop("definitions", {})


def _renamed(schema: Any, names: Dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_renamed(s, names) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: _renamed(v, names) for k, v in schema.items()}
    reference = out.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        out["$ref"] = "#/$defs/" + names.get(reference[8:], reference[8:])
    return out
