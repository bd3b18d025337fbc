"""Steps on the value of a handle: slicing and reducing where it lies. docs/protocol.md, section 8."""

from typing import Any, Callable, Dict, List, Sequence

from ..values.types import loaded
from . import steps_array, steps_frame, steps_plain
from .facts import kind_of
from .steps_key import StepError

__all__ = ["StepError", "apply"]

REDUCTIONS = ("sum", "mean", "std", "var", "min", "max", "argmin", "argmax", "norm", "any", "all", "median")


def apply(value: Any, steps: Sequence[Any]) -> Any:
    """The value after the steps, each `[NAME, …]`. Views where the library gives views."""
    for number, step in enumerate(steps, 1):
        if not isinstance(step, (list, tuple)) or not step or step[0] not in _CHECKS:
            raise StepError("step %d must be a list that begins with one of %s, and is %.200r" % (number, ", ".join(_CHECKS), step))
        try:
            arguments = _CHECKS[step[0]](list(step[1:]))
            value = getattr(_library(value), step[0])(value, *arguments)
        except StepError as e:
            raise StepError("step %d, %s: %s" % (number, step[0], e)) from None
        except Exception as e:
            raise StepError("step %d, %s: %s: %s" % (number, step[0], type(e).__name__, e)) from e
    return value


def _library(value: Any) -> Any:
    kind = kind_of(value)
    if kind == "array" or isinstance(value, getattr(loaded("numpy"), "generic", ())):
        return steps_array.Arrays(loaded("numpy"))
    if kind == "tensor":
        return steps_array.Tensors(loaded("torch"))
    if kind == "frame":
        return steps_frame.Frames(loaded("pandas"))
    if kind == "image":
        return steps_plain.Images()
    return steps_plain.Plain()


def _index(rest: List[Any]) -> List[Any]:
    if len(rest) != 1:
        raise StepError("it takes one key")
    return rest


def _reduce(rest: List[Any]) -> List[Any]:
    options = rest[1] if len(rest) == 2 else {}
    if not rest or len(rest) > 2 or rest[0] not in REDUCTIONS:
        raise StepError("it takes one of %s, and an object with axis and keepdims" % ", ".join(REDUCTIONS))
    if options is None:
        options = {}
    if not isinstance(options, dict) or set(options) - {"axis", "keepdims"}:
        raise StepError("its second argument is an object with axis and keepdims")
    axis = options.get("axis")
    if isinstance(axis, list):
        axis = tuple(axis)
    if axis is not None and not all(type(a) is int for a in (axis if isinstance(axis, tuple) else (axis,))):
        raise StepError("axis must be a whole number or a list of them")
    return [rest[0], axis, options.get("keepdims") is True]


def _astype(rest: List[Any]) -> List[Any]:
    if len(rest) != 1 or not isinstance(rest[0], str):
        raise StepError("it takes the name of a dtype")
    return rest


def _numbers(rest: List[Any]) -> List[Any]:
    given = rest[0] if len(rest) == 1 else []
    if len(rest) > 1 or not isinstance(given, (list, tuple)) or not all(type(n) is int for n in given):
        raise StepError("it takes a list of whole numbers")
    return [tuple(given)]


def _count(rest: List[Any]) -> List[Any]:
    if len(rest) != 1 or type(rest[0]) is not int or rest[0] < 0:
        raise StepError("it takes a whole number")
    return rest


_CHECKS: Dict[str, Callable[[List[Any]], List[Any]]] = {
    "index": _index, "reduce": _reduce, "astype": _astype, "reshape": _numbers, "transpose": _numbers, "head": _count, "topk": _count,
}
