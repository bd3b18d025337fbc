"""A loaded interface and everything that serves it, put together."""

from typing import Any, Callable, Dict

from .calls.delivery import Post
from .calls.dispatcher import Reception
from .calls.queues import Table
from .calls.scheduler import Desk
from .clock import Clock
from .execution.answers import Parts
from .execution.batches import Batches
from .execution.concurrent import Side
from .execution.failures import Failures
from .execution.loop import Loops
from .execution.output import Output
from .execution.runner import Runner
from .handles.handles import Handles
from .interface import load
from .interface.describe import describe
from .interface.reload import NotSafe, reload
from .interface.scrub import Scrubber
from .io_thread import Attendant
from .journal.journal import Journal
from .policy.limits import Limits
from .process.interrupts import Gate
from .reactor import Hub
from .service import Service
from .transport.usage_page import Page


class Build:
    """Made in the main thread, while nothing is served yet."""

    def __init__(self, order: Dict[str, Any], interface: load.Interface, hub: Hub, page: Page, gate: Gate, attendant: Attendant,
                 scrubber: Scrubber, output: Output) -> None:
        """order is the runtime's load message."""
        settings, record = order.get("limits") or {}, order.get("record") is True
        self._hub, self._gate, self._scrubber, self._interface = hub, gate, scrubber, interface
        self._attendant = attendant
        self.told: Callable[[Any, int], None] = lambda interface, generation: None
        self.journal = Journal(order.get("journal") or None, settings, record, int(order.get("generation") or 0), interface.code_hash,
                               order.get("models") or [], died=str(order.get("died") or ""))
        self.limits = Limits(order.get("tokens") or [], float(order.get("price") or 0), self.journal.read_use)
        self.journal.use = self.limits.use
        self._handles = Handles(settings, shown=scrubber.text, variables=lambda: list(vars(self._interface.module).values()))
        self._table = table = Table(self._handles)
        table.replace(interface)
        self._loops = Loops()
        self.post = Post(self.journal, hub.poller)
        self.desk = Desk(hub.lock, page, self.journal, table, self.post)
        self.post.calls = self.desk.calls
        self.reception = Reception(self.desk, self.journal, self.limits, table, self.post, int(settings.get("queue") or 0), record)
        self.desk.frame = self.reception.frame
        self._failures = Failures(scrubber)
        parts = Parts(self.desk, self.journal, self.limits, self._handles, table, self.post, output, scrubber, record)
        self.runner = Runner(parts, self._failures, self._loops.run)
        self.service = Service(hub, self.desk, table, gate, attendant)
        self.batches = Batches(self.desk, table, self.runner, self.service.pump)
        self.side = Side(self.desk, table, self.runner, self.batches, self._loops.thread)
        self.desk.start, self.desk.poke = self.side.start, self._poke
        self._use(interface)

    def open(self) -> None:
        """With the lock of the hub: calls may come, and those come back that waited when the worker before this one died."""
        self._hub.open(self.desk, self.post, Clock(self.desk, self.limits, self.post, self._sweep, self.journal.alive))
        self.desk.take_over()

    def _use(self, interface: load.Interface) -> None:
        self._interface, self._failures.script = interface, interface.script
        self._loops.shared = any(o.concurrent and o.is_async for o in interface.registry.options.values())

    def _poke(self) -> None:
        """A deadline has been set while others may be waiting without one."""
        self._attendant.poke()
        self._hub.wake()

    def _sweep(self) -> None:
        self.journal.sweep()
        self._handles.sweep()

    def tokens(self, message: Dict[str, Any]) -> None:
        """With the lock: who may call from now on, and how much."""
        tokens = message.get("tokens") or []
        self.limits.replace(tokens, float(message.get("price") or 0))
        known = {"main", *(t.get("id") for t in tokens)}
        self._handles.revoke(known)
        for connection in list(self._hub.connections.values()):
            if not connection.runtime and connection.token not in known:
                self._hub.drop(connection)

    def give_up(self) -> None:
        """With the lock: everything ends now."""
        self.service.leaving = True
        for call in list(self.desk.calls.values()):
            self.desk.stop(call, "cancelled")

    def reload(self, message: Dict[str, Any]) -> None:
        """In the main thread, between two calls."""
        try:
            interface = self._gate.run(message, reload, self._interface, message["path"])
        except (NotSafe, load.LoadFailed) as e:
            with self._hub.lock:
                self._hub.tell({"t": "kept_not", "reason": self._scrubber.text(str(e))})
            return
        description = self._scrubber.tree(describe(interface))
        with self._hub.lock:
            self._table.replace(interface)
            self._use(interface)
            self.journal.code_hash = interface.code_hash
            self.told(description, int(message.get("generation") or 0))
            self._hub.tell({"t": "ready", "interface": description, "kept": True})
