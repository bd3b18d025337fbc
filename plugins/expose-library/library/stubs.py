"""What the functions of this library share."""
from __future__ import annotations

from typing import Any, Sequence


class Default:
    """Stands for a default that only the served function knows; it is not sent."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def call(
    client: Any,
    function: str,
    args: list[Any],
    kwargs: dict[str, Any],
    leading: Sequence[str] = (),
    rest: Sequence[Any] = (),
) -> Any:
    """Calls a served function with the arguments that were given.

    leading names those of kwargs that stand before *rest: where there is a rest,
    they are sent by position.
    """
    values = [*args, *(kwargs.pop(name) for name in leading), *rest] if rest else args
    given = []
    for value in values:
        # Without a name, nothing can be given after what was not given.
        if isinstance(value, Default):
            break
        given.append(value)
    named = {name: value for name, value in kwargs.items() if not isinstance(value, Default)}
    return client.call(function, given, named)
