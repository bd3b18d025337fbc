"""Whether values have the types of their annotations."""

from __future__ import annotations

import collections.abc
import enum
import functools
import inspect
import os
import typing
from typing import Any, Callable, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ConfigError, Problem

_WORDS: dict[Any, str] = {
    str: "a text", bytes: "bytes", int: "a whole number", float: "a number", bool: "True or False", Any: "anything",
    list: "a list", dict: "a dictionary", collections.abc.Callable: "a function",
}


def check(work: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], skipped: int) -> None:
    """Raises a ConfigError with all arguments of a function that have wrong types. The first ones
    are skipped."""
    names, hints = _parameters(work)
    given = {**dict(zip(names[skipped:], args[skipped:])), **kwargs}
    found = [p for name, value in given.items() for p in problems(value, hints.get(name, Any), f"{work.__name__}.{name}")]
    if found:
        raise ConfigError("", found)


@functools.cache
def _parameters(work: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    from pathlib import Path

    imported_later = work.__globals__.get("_annotated", dict)  # of a module that imports types only for type checkers
    known = {**vars(typing), "Path": Path, **imported_later(), **work.__globals__}
    parameters = inspect.signature(work).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    of_object = names[:1] if names[:1] in (["self"], ["cls"]) else []
    hints = {
        p.name: eval(p.annotation, known) for p in parameters
        if p.name not in of_object and isinstance(p.annotation, str) and p.kind != p.VAR_KEYWORD
    }
    return names, hints


def of_fields(cls: type) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    return get_type_hints(cls)


def problems(value: Any, hint: Any, where: str) -> list[Problem]:
    """What is wrong with a value, by the places in it."""
    if _fits(value, hint):
        return []
    for option in get_args(hint) if get_origin(hint) is Union else (hint,):
        items = _items(value, option)
        if items is not None:
            return [p for place, item, wanted in items for p in problems(item, wanted, where + place)]
    return [Problem(where, f"must be {_described(hint)}, not {type(value).__name__}")]


def _items(value: Any, hint: Any) -> Any:
    """The parts of a value that has the outer type, each with its place and type."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is list and isinstance(value, (list, tuple)):
        return [(f"[{i}]", item, inside[0]) for i, item in enumerate(value)]
    if origin is dict and isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return [(f".{key}", item, inside[1]) for key, item in value.items()]
    return None


def _fits(value: Any, hint: Any) -> bool:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Union:
        return any(_fits(value, option) for option in inside)
    if origin is Literal:
        return value in inside
    if origin is list:
        return isinstance(value, (list, tuple)) and all(_fits(item, inside[0]) for item in value)
    if origin is tuple:
        return isinstance(value, (list, tuple)) and len(value) == len(inside) and all(map(_fits, value, inside))
    if origin is dict:
        return isinstance(value, dict) and all(_fits(k, inside[0]) and _fits(v, inside[1]) for k, v in value.items())
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(hint, type) and issubclass(hint, enum.Enum) and isinstance(value, str):
        return value in [member.value for member in hint]
    return isinstance(value, origin or hint)


def _described(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Union:
        return " or ".join(dict.fromkeys(_described(option) for option in inside if option is not type(None)))
    if origin is Literal:
        return " or ".join(map(repr, inside))
    if origin is tuple:
        return f"a pair of {_described(inside[0])} and {_described(inside[1])}"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " or ".join(f"{hint.__name__}.{member.name}" for member in hint)
    if issubclass(origin or hint, os.PathLike):
        return "a path"
    name = _WORDS.get(origin or hint)
    if name is None:
        name = f"{'an' if hint.__name__[0] in 'AEIOU' else 'a'} {hint.__name__}"
    words = dict.fromkeys(_plural(option) for option in get_args(inside[0]) or inside) if origin is list else ()
    return f"{name} of {' or '.join(words)}" if words else name


def _plural(hint: Any) -> str:
    if hint is str:
        return "texts"
    return "pairs" if get_origin(hint) is tuple else getattr(hint, "__name__", "values") + "s"
