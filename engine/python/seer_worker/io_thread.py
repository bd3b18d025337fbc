"""The thread that takes the main thread's place at the poller while that one is inside a call."""

import os
import sys
import threading
import time
from typing import Callable

from .reactor import Reactor
from .transport.poller import Poller

_TICK = 0.002  # seconds: a call that is over by then is none of its business
_LONG = 60.0


class IOThread:
    """Sleeps while the main thread waits for events itself, or runs calls that are over before they could be in the way.

    The main thread counts its turns and says whether it is busy. Whoever sees the same turn twice knows that the main
    thread has not been at the poller in between.
    """

    def __init__(self, reactor: Reactor, held_up: Callable[[float], float]) -> None:
        """held_up hears for how many seconds the main thread has been inside what it does, and says when to be told again."""
        self.turn = 0
        self.busy = True  # it loads
        self.waits = False  # nothing but poke, or an event, wakes it
        self._reactor, self._held_up = reactor, held_up
        self._wake, self._woken = os.pipe()[::-1]
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        self._alone, self._outer = Poller(), Poller()
        self._alone.read(self._woken)
        self._outer.read(self._woken)
        self._outer.read(reactor.poller.fd)

    def start(self) -> None:
        """Once everything that an event may need is there."""
        threading.Thread(target=self._run, name="seer-io", daemon=True).start()

    def begin(self) -> None:
        """The main thread begins something that may take long."""
        self.turn += 1
        self.busy = True
        if self.waits:
            self.poke()

    def poke(self) -> None:
        """Makes it look again."""
        try:
            os.write(self._wake, b"x")
        except BlockingIOError:  # it has been woken often enough
            pass

    def _run(self) -> None:
        try:
            while True:
                turn = self.turn
                time.sleep(_TICK)
                if self.turn != turn:
                    continue
                if self.busy:
                    self._stand_in(turn)
                else:
                    self._rest(turn)
        except BaseException:
            # Without this thread nobody hears the runtime any more: better no worker than a deaf one.
            sys.excepthook(*sys.exc_info())
            os._exit(70)

    def _rest(self, turn: int) -> None:
        self.waits = True
        if self.turn == turn and not self.busy:
            self._alone.wait(-1)
        self._rested()

    def _stand_in(self, turn: int) -> None:
        reactor, since = self._reactor, time.monotonic()
        while True:
            self.waits = True
            with reactor.lock:
                here = self.busy and self.turn == turn
                now = time.monotonic()
                pause = min(reactor.tick(now), self._held_up(now - since)) if here else 0.0
            if not here:
                break
            self._outer.wait(min(pause, _LONG))
            self._rested()
            with reactor.lock:
                if self.busy and self.turn == turn:
                    reactor.serve(reactor.poller.wait(0))
        self._rested()

    def _rested(self) -> None:
        self.waits = False
        try:
            os.read(self._woken, 4096)
        except BlockingIOError:
            pass
