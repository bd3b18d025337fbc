"""Whose code runs here: the call that a thread, a task or a child process belongs to."""

import contextvars
import itertools
import os
import time
from typing import Any, Callable, Optional

_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_serial = itertools.count(1)


class Scope:
    """A call while it runs. output.py and children.py keep here what they have to know of it."""

    __slots__ = ("id", "mark", "began", "capture", "pids", "process")

    def __init__(self, id: str) -> None:
        self.id = id
        self.mark = "%d-%d" % (os.getpid(), next(_serial))  # no two calls have the same, whatever their clients call them
        self.began = time.clock_gettime(_BOOT)
        self.capture: Any = None  # of output.py
        self.pids: Any = None  # of children.py


_current: "contextvars.ContextVar[Optional[Scope]]" = contextvars.ContextVar("seer_call", default=None)
current: Callable[[], Optional[Scope]] = _current.get


def enter(scope: Scope) -> "contextvars.Token[Optional[Scope]]":
    """From here on this thread or task runs code of the call; give the answer to leave, in the same thread or task."""
    return _current.set(scope)


def leave(token: "contextvars.Token[Optional[Scope]]") -> None:
    """Ends what enter has begun."""
    _current.reset(token)
