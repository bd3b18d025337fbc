"""Interrupts the call that runs in the main thread, and never the one after it."""

import signal
import threading
from typing import Any, Callable, Optional, Tuple

_SIGNAL = signal.SIGUSR2  # not SIGINT: libraries replace its handler


class Interrupted(KeyboardInterrupt):
    """Raised inside the user's function. A KeyboardInterrupt, so that it cleans up as after Ctrl-C."""

    __module__ = "seer"  # what a traceback shows

    def __init__(self, reason: str = "cancelled") -> None:
        super().__init__(reason)
        self.reason = reason


class Interrupts:
    """Made in the main thread, which passes through it for every call.

    A signal may arrive late, when its call is over and another one runs. So it names its call, and the handler
    raises only if that one is still inside.
    """

    def __init__(self) -> None:
        self._inside: Optional[object] = None
        self._wanted: Tuple[Optional[object], str] = (None, "")
        self._main = threading.main_thread().ident
        signal.signal(_SIGNAL, self._on_signal)

    def run(self, call: object, function: Callable[..., Any], *args: Any) -> Any:
        """Interrupted can come out at any point until the last line of this function, and not later."""
        try:
            self._inside = call
            if self._wanted[0] is call:  # it was to be interrupted before it came in
                raise Interrupted(self._wanted[1])
            return function(*args)
        finally:
            self._inside = None

    def outside(self, call: object, function: Callable[..., Any], *args: Any) -> Any:
        """What must not be interrupted, of a call that is inside. An interrupt comes after it instead."""
        try:
            self._inside = None
            return function(*args)
        finally:
            self._inside = call
            if self._wanted[0] is call:
                raise Interrupted(self._wanted[1])

    def interrupt(self, call: object, reason: str) -> None:
        """From another thread. Does nothing if the call is over."""
        self._wanted = (call, reason)
        if self._inside is call and self._main is not None:
            signal.pthread_kill(self._main, _SIGNAL)

    def _on_signal(self, *_: object) -> None:
        call, reason = self._wanted
        if call is not None and self._inside is call:
            raise Interrupted(reason)
