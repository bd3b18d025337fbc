"""The loop of the main thread: waits for calls, and runs those that are its own one at a time."""

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .calls.calls import Call
from .calls.queues import Table
from .calls.scheduler import Desk
from .execution.batches import Batches
from .execution.concurrent import Side
from .execution.runner import Runner
from .io_thread import Attendant
from .process.interrupts import Gate
from .reactor import Hub

_OFTEN = 0.001  # seconds between looks for events while calls wait
_DELIVERY = 3.0  # seconds for slow clients to take their results after a stop
_NAP = 0.05
_SOON = 0.01  # seconds until a call is seen that the attendant has taken in


class Service:
    """Made and run in the main thread."""

    def __init__(self, hub: Hub, desk: Desk, table: Table, gate: Gate, attendant: Attendant) -> None:
        self._hub, self._desk, self._table, self._gate, self._attendant = hub, desk, table, gate, attendant
        self.leaving = False
        self.edited: Optional[Dict[str, Any]] = None  # a reload that waits for the end of the running call
        self._polled = 0.0

    def run(self, runner: Runner, side: Side, batches: Batches, reload: Callable[[Dict[str, Any]], None]) -> None:
        """Serves until the runtime says stop or stays away."""
        desk, lock, gate, table = self._desk, self._hub.lock, self._gate, self._table.functions
        pause = 0.0
        while True:
            self.turn(pause)
            with lock:
                edited = self._edit(side)
                call, passing = self._next(side.stands_in) if edited is None else (None, False)
                if call is None and edited is None:
                    pause = self._idle()
                    if self.leaving and not desk.running and not side.stands_in:
                        break
                    continue
                self._attendant.begin()
            pause = 0.0
            if edited is not None:
                reload(edited)
                table = self._table.functions
            elif call is not None and passing:
                side.in_passing(call, gate)
            elif call is not None and call.fn in table and table[call.fn].options.batch:
                batches.in_turn(call, gate)
            elif call is not None:
                runner.perform(call, gate)
        self._finish()

    def turn(self, pause: float) -> None:
        """Waits for events so long, and serves them. While calls wait, it looks only now and then."""
        hub = self._hub
        if pause:  # it is idle, and nobody else serves
            ready: List[int] = hub.poller.wait(pause)
            self._polled = time.monotonic()
            if ready:
                with hub.lock:
                    hub.serve(ready)
            return
        now = time.monotonic()
        if now - self._polled >= _OFTEN:
            self._polled = now
            with hub.lock:
                hub.serve(hub.poller.wait(0))  # with the lock: the attendant may serve at this time as well
                hub.tick(now)  # who is never idle has no other time for it

    def pump(self, pause: float) -> None:
        """As turn, while a batch is gathered."""
        self._hub.poller.wait(min(pause, _SOON))
        self._polled = 0.0
        self.turn(0.0)

    def _edit(self, side: Side) -> Optional[Dict[str, Any]]:
        if side.stands_in:  # it is not the time between two calls
            return None
        edited, self.edited = self.edited, None
        return edited

    def _next(self, occupied: bool) -> Tuple[Optional[Call], bool]:
        desk = self._desk
        passing = bool(desk.inline)
        call = desk.inline.popleft() if passing else None if occupied else desk.waiting.pop()
        if call is not None and not passing:
            desk.begin(call)
        return call, passing

    def _idle(self) -> float:
        self._attendant.busy = False
        self._polled = 0.0
        pause = self._hub.tick(time.monotonic())
        return min(pause, _NAP) if self.leaving else pause or 1e-6

    def _finish(self) -> None:
        """Gives slow clients some time for their answers."""
        deadline = time.monotonic() + _DELIVERY
        while time.monotonic() < deadline:
            with self._hub.lock:
                if not self._hub.sending:
                    return
            self.turn(_NAP)
