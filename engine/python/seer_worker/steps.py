"""Steps on the value of a handle: slicing and reducing where it lies. docs/protocol.md, section 8."""

from typing import Any, Sequence


class StepError(ValueError):
    """A step does not fit the value; the call error `bad_arguments`."""


def apply(value: Any, steps: Sequence[Any]) -> Any:
    """The value after the steps, each `[NAME, …]`. Views where the library gives views."""
    raise NotImplementedError
