"""What the dataclasses of the package share: the check of their arguments, and the type of a path."""

from __future__ import annotations

import difflib
import functools
import os
from dataclasses import MISSING, fields
from typing import Any, TypeVar, Union

from ._engine import arguments
from .errors import ConfigError, Problem

T = TypeVar("T")
PathLike = Union[str, os.PathLike[str]]


def checked(cls: type[T]) -> type[T]:
    """Has the class report all unknown and missing fields at once, and then all wrong types, too.
    Without such a field, the types are checked with the values: see ``_json`` of ``environment.config``."""
    made = cls.__init__

    @functools.wraps(made)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        given = {**dict(zip(names, args)), **kwargs}
        problems = _misnamed(cls, names, given)
        if problems:
            hints = arguments.of_fields(cls)
            wrong = [p for n, v in given.items() if n in hints for p in arguments.problems(v, hints[n], f"{cls.__name__}.{n}")]
            raise ConfigError("", [*problems, *wrong])
        made(self, *args, **kwargs)

    cls.__init__ = init  # type: ignore[method-assign]
    return cls


def _misnamed(cls: type, names: list[str], given: dict[str, Any]) -> list[Problem]:
    problems = []
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(names)
            problems.append(Problem(f"{cls.__name__}.{name}", "unknown field", hint))
    for f in fields(cls):
        if f.default is MISSING and f.default_factory is MISSING and f.name not in given:
            problems.append(Problem(f"{cls.__name__}.{f.name}", "is missing"))
    return problems
