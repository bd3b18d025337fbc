"""Keys of the step index, as they come in JSON."""

import math
from typing import Any, Callable, Sequence

_LARGEST = 256 << 20  # bytes that a step may make of something smaller


class StepError(ValueError):
    """A step does not fit the value; the call error `bad_arguments`."""


def key_of(key: Any, many: Callable[["list[Any]"], Any] = list) -> Any:
    """A key as Python has it. many makes of a list of whole numbers or bools what the library wants."""
    if isinstance(key, dict):
        if set(key) == {"slice"} and isinstance(key["slice"], (list, tuple)) and 1 <= len(key["slice"]) <= 3:
            parts = list(key["slice"])
            if all(p is None or type(p) is int for p in parts):
                return slice(*parts) if len(parts) > 1 else slice(parts[0])
        if set(key) == {"at"} and isinstance(key["at"], (list, tuple)):
            return tuple(key_of(k, many) for k in key["at"])
    elif key == "...":
        return Ellipsis
    elif key is None or type(key) in (int, str):
        return key
    elif isinstance(key, (list, tuple)):
        if all(type(k) is int for k in key) or all(type(k) is bool for k in key) or all(type(k) is str for k in key):
            return many(list(key))
    raise StepError('a key is a whole number, a text, {"slice":[a,b,c]}, "...", null, a list of whole numbers, bools or texts, '
                    'or {"at":[…]} of these; this one is %.200r' % (key,))


def check_growth(key: Any, shape: Sequence[int], size: int) -> None:
    """A list of indices says items again and again: StepError where it would make much more of a value of size bytes. key is as it came."""
    axis, grown = 0, 1.0
    keys = key["at"] if isinstance(key, dict) and isinstance(key.get("at"), (list, tuple)) else [key]
    consuming = sum(k is not None and k != "..." for k in keys)
    for one in keys:
        if one == "...":
            axis += max(0, len(shape) - consuming)
        elif one is not None:
            if isinstance(one, (list, tuple)) and axis < len(shape):
                grown = max(grown, len(one) / max(1, shape[axis]))
            axis += 1
    check_size(math.ceil(size * grown), size)


def check_size(size: int, fine: int) -> None:
    """StepError where a step makes so much more than fine bytes that the worker might not survive it."""
    if size > max(fine, _LARGEST):
        raise StepError("it would make %d MiB; take fewer, or smaller ones" % (size >> 20))
