"""A loaded interface and everything that serves it, put together."""

import sys
import threading
from typing import Any, Callable, Dict

from .calls.delivery import Delivery
from .calls.dispatcher import Dispatcher
from .calls.queues import Table
from .calls.scheduler import Scheduler
from .clock import Clock
from .execution.answers import Parts
from .execution.batches import Batches
from .execution.concurrent import ConcurrentRunner
from .execution.failures import Failures
from .execution.loop import Loops
from .execution.output import Output
from .execution.runner import Runner
from .execution.staging import Stager
from .handles.handles import Handles
from .interface import load
from .interface.describe import describe
from .interface.reload import NotSafe, reload
from .interface.scrub import Scrubber
from .io_thread import IOThread
from .journal.journal import Journal
from .journal.recording import Recording
from .policy.limits import Limits
from .process.interrupts import Interrupts
from .reactor import Reactor
from .service import Service
from .transport.usage_page import UsagePage


class Wiring:
    """Made in the main thread, while nothing is served yet."""

    def __init__(self, order: Dict[str, Any], interface: load.Interface, reactor: Reactor, page: UsagePage, interrupts: Interrupts,
                 io_thread: IOThread, scrubber: Scrubber, output: Output) -> None:
        """order is the runtime's load message."""
        settings = order.get("limits") or {}
        self.recording = record = Recording(order.get("record") is True)
        record.prolong(float(order.get("seconds") or 0))
        self._reactor, self._interrupts, self._scrubber, self._interface = reactor, interrupts, scrubber, interface
        self._io_thread, self._main = io_thread, threading.get_ident()
        self.told: Callable[[Any, int], None] = lambda interface, generation: None
        self.journal = Journal(order.get("journal") or None, settings, record, int(order.get("generation") or 0), interface.code_hash,
                               order.get("models") or [], died=str(order.get("died") or ""),
                               datasets=order.get("datasets") or [])
        self.limits = Limits(order.get("tokens") or [], float(order.get("price") or 0), self.journal.read_use)
        self.journal.use = self.limits.use
        self._handles = Handles(settings, shown=scrubber.text, variables=lambda: list(vars(self._interface.module).values()))
        self._table = table = Table(self._handles)
        table.replace(interface)
        self._loops = Loops()
        self.delivery = Delivery(self.journal, reactor.poller)
        self.scheduler = Scheduler(reactor.lock, page, self.journal, table, self.delivery)
        self.delivery.calls = self.scheduler.calls
        self.dispatcher = Dispatcher(self.scheduler, self.journal, self.limits, table, self.delivery, int(settings.get("queue") or 0),
                                     record)
        self.scheduler.frame = self.dispatcher.frame
        self._failures = Failures(scrubber)
        stager = Stager()
        self.journal.whole = stager.whole
        parts = Parts(self.scheduler, self.journal, self.limits, self._handles, table, self.delivery, output, scrubber, record, stager)
        self.runner = Runner(parts, self._failures, self._loops.run)
        self.service = Service(reactor, self.scheduler, table, interrupts, io_thread)
        self.batches = Batches(self.scheduler, table, self.runner, self.service.pump)
        self.concurrent = ConcurrentRunner(self.scheduler, table, self.runner, self.batches, self._loops.thread)
        self.scheduler.start, self.scheduler.poke = self.concurrent.start, self._poke
        self._use(interface)

    def open(self) -> None:
        """With the lock of the reactor: calls may come, and those come back that waited when the worker before this one died."""
        clock = Clock(self.scheduler, self.limits, self.delivery, self._sweep, self.journal.alive)
        self._reactor.open(self.scheduler, self.delivery, clock)
        self.scheduler.take_over()

    def _use(self, interface: load.Interface) -> None:
        self._interface, self._failures.script = interface, interface.script
        self._loops.shared = any(o.concurrent and o.is_async for o in interface.registry.options.values())

    def _poke(self) -> None:
        """A deadline has been set while others may be waiting without one."""
        if threading.get_ident() != self._main:
            self._io_thread.poke()
            self._reactor.wake()
        elif self._io_thread.waits:  # it came before the deadline was set: the arguments took long
            self._io_thread.poke()

    def _sweep(self) -> None:
        for sweep in (self.journal.sweep, self._handles.sweep):
            try:
                sweep()
            except Exception as e:  # it would end the thread that serves, and the worker with it; the next sweep is in a minute
                print("seer: what is old could not be removed: %s: %s" % (type(e).__name__, e), file=sys.stderr)

    def tokens(self, message: Dict[str, Any]) -> None:
        """With the lock: who may call from now on, and how much."""
        tokens = message.get("tokens") or []
        self.limits.replace(tokens, float(message.get("price") or 0))
        known = {"main", *(t.get("id") for t in tokens)}
        self._handles.revoke(known)
        for connection in list(self._reactor.connections.values()):
            if not connection.runtime and connection.token not in known:
                self._reactor.drop(connection)

    def give_up(self) -> None:
        """With the lock: everything ends now."""
        self.service.leaving = True
        for call in list(self.scheduler.calls.values()):
            self.scheduler.stop(call, "cancelled")

    def unreload(self, generation: int) -> None:
        """With the lock: the edit is not taken over if that has not begun."""
        edited = self.service.edited
        if edited is not None and int(edited.get("generation") or 0) == generation:
            self.service.edited = None
            self._reactor.tell({"t": "kept_not", "reason": "it was given up"})

    def reload(self, message: Dict[str, Any]) -> None:
        """In the main thread, between two calls."""
        try:
            interface = self._interrupts.run(message, reload, self._interface, message["path"])
        except (NotSafe, load.LoadFailed) as e:
            with self._reactor.lock:
                self._reactor.tell({"t": "kept_not", "reason": self._scrubber.text(str(e))})
            return
        description = self._scrubber.tree(describe(interface))
        with self._reactor.lock:
            self._table.replace(interface)
            self._use(interface)
            self.journal.code_hash = interface.code_hash
            self.told(description, int(message.get("generation") or 0))
            self._reactor.tell({"t": "ready", "interface": description, "kept": True})
