"""The loop of the main thread: waits for calls, and runs those that are its own one at a time."""

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .calls.calls import Call
from .calls.queues import Table
from .calls.scheduler import Scheduler
from .execution.batches import Batches
from .execution.concurrent import ConcurrentRunner
from .execution.runner import Runner
from .io_thread import IOThread
from .process.interrupts import Interrupts
from .reactor import Reactor

_OFTEN = 0.001  # seconds between looks for events while calls wait
_DELIVERY = 3.0  # seconds for slow clients to take their results after a stop
_NAP = 0.05
_SOON = 0.01  # seconds until a call is seen that the I/O thread has taken in


class Service:
    """Made and run in the main thread."""

    def __init__(self, reactor: Reactor, scheduler: Scheduler, table: Table, interrupts: Interrupts, io_thread: IOThread) -> None:
        self._reactor, self._scheduler, self._table, self._interrupts, self._io_thread = reactor, scheduler, table, interrupts, io_thread
        self.leaving = False
        self.edited: Optional[Dict[str, Any]] = None  # a reload that waits for the end of the running call
        self._polled = 0.0

    def run(self, runner: Runner, concurrent: ConcurrentRunner, batches: Batches, reload: Callable[[Dict[str, Any]], None]) -> None:
        """Serves until the runtime says stop or stays away."""
        scheduler, lock, interrupts, table = self._scheduler, self._reactor.lock, self._interrupts, self._table.functions
        pause = 0.0
        while True:
            self.turn(pause)
            with lock:
                edited = self._edit(concurrent)
                call, passing = self._next(concurrent.stands_in) if edited is None else (None, False)
                if call is None and edited is None:
                    pause = self._idle()
                    if self.leaving and not scheduler.running and not concurrent.stands_in:
                        break
                    continue
                self._io_thread.begin()
            pause = 0.0
            if edited is not None:
                reload(edited)
                table = self._table.functions
            elif call is not None and passing:
                concurrent.in_passing(call, interrupts)
            elif call is not None and call.fn in table and table[call.fn].options.batch:
                batches.in_turn(call, interrupts)
            elif call is not None:
                runner.perform(call, interrupts)
        self._finish()

    def turn(self, pause: float) -> None:
        """Waits for events so long, and serves them. While calls wait, it looks only now and then."""
        reactor = self._reactor
        if pause:  # it is idle, and nobody else serves
            ready: List[int] = reactor.poller.wait(pause)
            self._polled = time.monotonic()
            if ready:
                with reactor.lock:
                    reactor.serve(ready)
            return
        now = time.monotonic()
        if now - self._polled >= _OFTEN:
            self._polled = now
            with reactor.lock:
                reactor.serve(reactor.poller.wait(0))  # with the lock: the I/O thread may serve at this time as well
                reactor.tick(now)  # who is never idle has no other time for it

    def pump(self, pause: float) -> None:
        """As turn, while a batch is gathered."""
        self._reactor.poller.wait(min(pause, _SOON))
        self._polled = 0.0
        self.turn(0.0)

    def _edit(self, concurrent: ConcurrentRunner) -> Optional[Dict[str, Any]]:
        if concurrent.stands_in:  # it is not the time between two calls
            return None
        edited, self.edited = self.edited, None
        return edited

    def _next(self, occupied: bool) -> Tuple[Optional[Call], bool]:
        scheduler = self._scheduler
        passing = bool(scheduler.inline)
        call = scheduler.inline.popleft() if passing else None if occupied else scheduler.waiting.pop()
        if call is not None and not passing:
            scheduler.begin(call)
        return call, passing

    def _idle(self) -> float:
        self._io_thread.busy = False
        self._polled = 0.0
        pause = self._reactor.tick(time.monotonic())
        return min(pause, _NAP) if self.leaving else pause or 1e-6

    def _finish(self) -> None:
        """Gives slow clients some time for their answers."""
        deadline = time.monotonic() + _DELIVERY
        while time.monotonic() < deadline:
            with self._reactor.lock:
                if not self._reactor.sending:
                    return
            self.turn(_NAP)
