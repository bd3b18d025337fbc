"""Whose code runs here: the call that a thread, a task or a child process belongs to.

Tasks inherit it by themselves. Threads do not; install sees to those that a call starts, and to what it gives to a pool.
"""

import contextvars
import itertools
import os
import sys
import threading
from typing import Any, Callable, List, Optional

_process, _serial = os.urandom(6).hex(), itertools.count(1)


class Scope:
    """A call while it runs. output.py and children.py keep here what they have to know of it."""

    __slots__ = ("id", "serial", "capture", "children")

    def __init__(self, id: str) -> None:
        self.id = id
        self.serial = next(_serial)
        self.capture: Any = None  # of output.py
        self.children = False  # it may have started some

    @property
    def mark(self) -> str:
        """No two calls have the same, whatever their clients call them."""
        return "%s.%d" % (_process, self.serial)


_current: "contextvars.ContextVar[Optional[Scope]]" = contextvars.ContextVar("seer_call", default=None)
current: Callable[[], Optional[Scope]] = _current.get


def enter(scope: Scope) -> "contextvars.Token[Optional[Scope]]":
    """From here on this thread or task runs code of the call; give the answer to leave, in the same thread or task."""
    if "concurrent.futures.thread" in sys.modules and not _pools_patched:
        _patch_pools()
    return _current.set(scope)


def leave(token: "contextvars.Token[Optional[Scope]]") -> None:
    """Ends what enter has begun."""
    _current.reset(token)


# --- threads

_pools_patched: List[bool] = []  # not empty once it is done


def install() -> None:
    """Threads that a call starts belong to it. Once, in the worker, before the interface is loaded."""
    start = threading.Thread.start
    if getattr(start, "seer", False):
        return

    def patched(self: threading.Thread) -> None:
        scope = _current.get()
        if scope is not None:
            run = self.run

            def run_in_call() -> None:
                _current.set(scope)
                run()

            self.run = run_in_call  # type: ignore[method-assign]
        start(self)

    patched.seer = True  # type: ignore[attr-defined]
    patched.__wrapped__ = start  # type: ignore[attr-defined]
    threading.Thread.start = patched  # type: ignore[method-assign]


def _patch_pools() -> None:
    """Threads of a pool live longer than a call: what they do belongs to who has asked for it."""
    pool = sys.modules["concurrent.futures.thread"].ThreadPoolExecutor
    submit = pool.submit
    _pools_patched.append(submit)

    def patched(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _InCall(_current.get(), fn), *args, **kwargs)

    patched.__wrapped__ = submit  # type: ignore[attr-defined]
    pool.submit = patched


class _InCall:
    __slots__ = ("_scope", "_fn")

    def __init__(self, scope: Optional[Scope], fn: Callable[..., Any]) -> None:
        self._scope, self._fn = scope, fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        token = _current.set(self._scope)
        try:
            return self._fn(*args, **kwargs)
        finally:
            _current.reset(token)
