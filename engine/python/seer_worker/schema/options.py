"""What @expose says about a function beside its name. docs/protocol.md, section 5."""

import inspect
from typing import Any, Callable, Dict, NamedTuple, Optional

from ..transport.errors import InterfaceError

SIDE_BY_SIDE = 16  # what concurrent=True means
_LONGEST_WAIT = 60.0


class Options(NamedTuple):
    """How a function may be called. Zero values are the default."""

    concurrent: int = 0  # how many may run beside each other; 0 = one at a time, in the main thread
    batch: int = 0  # how many calls one run may answer; 0 = each its own
    batch_wait: float = 0.005
    timeout: float = 0.0  # seconds of every call; 0 = none
    title: str = ""
    hints: Dict[str, bool] = {}  # read_only, destructive, idempotent, open_world, as far as they are said
    is_async: bool = False  # a coroutine function, or with stream an async generator
    stream: bool = False  # a generator: it gives items one after the other


def options_of(
    function: Callable[..., Any], concurrent: Any = False, batch: Any = None, batch_wait: Any = None, timeout: Any = None,
    title: Any = "", hints: Optional[Dict[str, Any]] = None,
) -> Options:
    """Checks what was written in the parentheses of @expose. InterfaceError says what is wrong with it."""
    name = getattr(function, "__name__", "the function")
    stream = _is(function, inspect.isgeneratorfunction) or _is(function, inspect.isasyncgenfunction)
    is_async = _is(function, inspect.iscoroutinefunction) or _is(function, inspect.isasyncgenfunction)
    size = 0 if batch is None else _count("batch", batch, name)
    if size and stream:
        raise InterfaceError("@expose(batch=…) on %s: a generator gives many items for one call, and a batch one for each of many; "
                             "use one of the two" % name)
    if batch_wait is not None and not size:
        raise InterfaceError("@expose(batch_wait=…) on %s needs batch=, the largest number of calls that one run may answer" % name)
    wait = 0.005 if batch_wait is None else _seconds("batch_wait", batch_wait, name)
    if wait > _LONGEST_WAIT:
        raise InterfaceError("@expose(batch_wait=%r) on %s is more than the %g seconds that a call may wait for others"
                             % (batch_wait, name, _LONGEST_WAIT))
    if not isinstance(title, str):
        raise InterfaceError("@expose(title=…) on %s must be text, and is %r" % (name, title))
    limit = 0.0 if timeout is None else _seconds("timeout", timeout, name)
    if timeout is not None and limit == 0:
        raise InterfaceError("@expose(timeout=0) on %s would end every call at once; leave it out for none" % name)
    side = SIDE_BY_SIDE if concurrent is True else 0 if concurrent is False else _count("concurrent", concurrent, name)
    return Options(side, size, wait, limit, title, _hints(hints or {}, name), is_async, stream)


def _is(function: Callable[..., Any], check: Callable[[Any], bool]) -> bool:
    return check(function) or check(inspect.unwrap(function))


def _count(option: str, value: Any, name: str) -> int:
    if type(value) is not int or not 1 <= value <= 100_000:
        raise InterfaceError("@expose(%s=%r) on %s must be a whole number from 1 to 100000" % (option, value, name))
    return int(value)


def _seconds(option: str, value: Any, name: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e9:
        raise InterfaceError("@expose(%s=%r) on %s must be a number of seconds" % (option, value, name))
    return float(value)


def _hints(hints: Dict[str, Any], name: str) -> Dict[str, bool]:
    for hint, value in hints.items():
        if value is not None and not isinstance(value, bool):
            raise InterfaceError("@expose(%s=%r) on %s must be True or False" % (hint, value, name))
    return {hint: value for hint, value in hints.items() if value is not None}
