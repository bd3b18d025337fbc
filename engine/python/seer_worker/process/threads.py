"""Threads for calls that run beside others, and interrupts for what runs in them."""

import ctypes
import threading
from queue import SimpleQueue
from typing import Any, Callable, Optional

from .interrupts import Interrupted


class ThreadInterrupts:
    """As Interrupts, for one call in one thread. Python code ends at once; a C function ends first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = 0  # the one inside
        self._wanted: Optional[str] = None

    def run(self, call: object, function: Callable[..., Any], *args: Any) -> Any:
        """Interrupted can come out until the last line of this function, and not later."""
        try:
            return self._enter(function, args)
        except Interrupted as e:
            e.reason = self._wanted or e.reason
            raise
        finally:
            while self._thread:
                try:
                    self._leave()
                except Interrupted:  # it was under way, and there is only one at a time
                    continue

    def outside(self, call: object, function: Callable[..., Any], *args: Any) -> Any:
        """What must not be interrupted, of a call that is inside. An interrupt comes after it instead."""
        while self._thread:
            try:
                self._leave()
            except Interrupted:  # _come_in raises it again
                continue
        try:
            return function(*args)
        finally:
            self._come_in()

    def interrupt(self, call: object, reason: str) -> None:
        """From another thread. Does nothing if the call is over."""
        with self._lock:
            self._wanted = reason
            if self._thread:
                _raise_in(self._thread, Interrupted)

    def _enter(self, function: Callable[..., Any], args: Any) -> Any:
        self._come_in()
        return function(*args)

    def _come_in(self) -> None:
        with self._lock:
            if self._wanted is not None:
                raise Interrupted(self._wanted)
            self._thread = threading.get_ident()

    def _leave(self) -> None:
        with self._lock:
            self._thread = 0
            _raise_in(threading.get_ident(), None)


def _raise_in(thread: int, kind: Optional[type]) -> None:
    """kind None takes one back that has not been raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind) if kind else None)


class Pool:
    """As many threads as there are jobs at once, and no more."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def run(self, function: Callable[..., None], *args: Any) -> None:
        """Runs it in a thread of the pool, soon."""
        with self._lock:
            spare = self._idle > 0
            if spare:
                self._idle -= 1
        self._jobs.put((function, args))
        if not spare:
            threading.Thread(target=self._work, name="seer-call", daemon=True).start()

    def _work(self) -> None:
        while True:
            function, args = self._jobs.get()
            function(*args)
            del function, args  # while it waits, it must not keep anybody's values
            with self._lock:
                self._idle += 1
