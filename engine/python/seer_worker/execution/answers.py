"""What becomes of a run: its answer goes into the journal, and to all who wait for it."""

import threading
import time
from typing import Any, List, NamedTuple, Optional, Tuple

from .. import values
from ..calls.calls import ENDED, ENDING, Call
from ..calls.delivery import Delivery, framed
from ..calls.queues import Table
from ..calls.scheduler import Scheduler
from ..handles.handles import Handles
from ..interface.scrub import Scrubber
from ..journal.journal import Journal
from ..journal.recording import Recording
from ..policy.limits import Limits
from ..process.context import Scope
from ..process.gpu_memory import GPUMemory
from ..transport.arrival import Arrival
from ..transport.connection import Connection
from ..transport.frames import MAX_BODY
from .failures import Failures
from .output import Output
from .staging import Stager


class Parts(NamedTuple):
    """What a runner works with."""

    scheduler: Scheduler
    journal: Journal
    limits: Limits
    handles: Handles
    table: Table
    delivery: Delivery
    output: Output
    scrubber: Scrubber
    record: Recording
    stager: Stager


class Answers:
    """Thread-safe."""

    def __init__(self, parts: Parts, failures: Failures) -> None:
        self._scheduler, self._journal, self._limits, self._table = parts.scheduler, parts.journal, parts.limits, parts.table
        self._delivery, self._output, self._failures, self._stager = parts.delivery, parts.output, failures, parts.stager
        self._lent: List[Tuple[str, int, Any]] = []  # answers in the journal that are memory of the user's objects
        self._lending = threading.Lock()
        self.gpus = GPUMemory()

    def answer(self, call: Call, encoded: values.Encoded) -> None:
        """The function has returned."""
        seconds = time.monotonic() - call.began
        try:  # before the end: what cannot be sent is a failure of the call
            body, borrowed = body_of(call, encoded, self._table.alone)
        except BaseException as e:
            self.fail(call, e)
            return
        if not self._end(call, seconds):
            return
        n = call.last + 1
        header = self._journal.result(call.id, n, body, encoded.tagged, seconds, call.gpu)
        if borrowed and in_memory(self._journal, call.id):
            self._lent.append((call.id, n, body))
        arrival = self._stager.arrival(encoded) if encoded.buffers else None
        with self._scheduler.lock:
            # A connection that is written to only queues the answer: this thread sends it, and can wait for what is still to come.
            slow = [f.connection for f in call.followers if not f.connection.writing] if arrival is not None else []
            for connection in slow:
                connection.writing = True
            slow += self._scheduler.ended(call, framed(header, body), borrowed)
            for connection in slow:
                connection.writing = True
        for connection in slow:
            self._deliver(connection, arrival)
        if arrival is not None and arrival.settle():
            self._stager.forget()
        elif arrival is not None:
            self._journal.lose(call.id, n)

    def fail(self, call: Call, e: BaseException) -> None:
        """The function has raised, or was not to run."""
        seconds = time.monotonic() - call.began
        if not self._end(call, seconds):
            return
        error = self._failures.error(call, e)
        if error["code"] == "refused":
            self._journal.refused(call.id, call.fn, call.token, error["message"])
        if error["code"] in ("busy", "refused"):  # it did not run, and may be sent again
            self._journal.forget(call.id)
            with self._scheduler.lock:
                self._scheduler.turned_away(call, error)
            return
        if self._journal.find(call.id) is None:  # it did not begin
            with self._scheduler.lock:
                self._scheduler.end(call, error)
            return
        header = self._journal.error(call.id, call.last + 1, error, seconds, call.gpu)
        with self._scheduler.lock:
            self._scheduler.ended(call, framed(header, b""), False)

    def _end(self, call: Call, seconds: float) -> bool:
        """The run is over: no event comes any more but the last. False if that has been given already."""
        self.unmeter(call, seconds)
        call.gpu = self.gpus.end(call.id, seconds)
        self.end_capture(call.scope)
        with self._scheduler.lock:
            if call.state == ENDED:
                return False
            call.state = ENDING
        return True

    def unmeter(self, call: Call, seconds: float) -> None:
        """Counts what the call has used of its token."""
        if call.metered:
            call.metered = False
            self._limits.end(call.token, seconds)

    def end_capture(self, scope: Optional[Scope]) -> None:
        """The last of what was printed becomes events now."""
        if scope is not None and scope.capture is not None:
            self._output.end(scope)

    def _deliver(self, connection: Connection, arrival: Optional[Arrival] = None) -> None:
        """A large answer out of the user's own memory. What a client does not take quickly is copied."""
        connection.drain(arrival)
        whole = arrival is None or arrival.settle()
        with self._scheduler.lock:
            if not whole:  # its client asks for the answer again, and learns that it is lost
                connection.close()
            connection.writing = False
            if connection.shut:
                connection.close()
            if connection.closed:
                return  # it is the reactor's to drop, which hears of it from the poller
            connection.own()
            if connection.out:
                self._delivery.watch(connection)
            self._delivery.writable(connection)

    def own_lent(self) -> None:
        """Before code of the user runs: it may change what an answer that is still kept was made of."""
        if not self._lent:
            return
        with self._lending:
            while self._lent:
                id, n, body = self._lent[0]
                if in_memory(self._journal, id):
                    self._journal.keep(id, n, b"".join(body))
                del self._lent[0]


def body_of(call: Call, encoded: values.Encoded, alone: bool) -> Tuple[Any, bool]:
    """The body of an event, and whether it is still memory of the user's objects. ValueError: no frame can have it."""
    if not encoded.buffers and not call.deflate:
        if len(encoded.data) > MAX_BODY:
            raise _too_large(len(encoded.data))
        return encoded.data, False
    body = encoded.body(call.deflate)
    size = sum(map(len, body))
    if size > MAX_BODY:
        raise _too_large(size)
    if encoded.buffers and lends(call, alone):
        return body, True
    return b"".join(body), False


def _too_large(size: int) -> ValueError:
    return ValueError("a value of %d bytes is larger than the %d allowed" % (size, MAX_BODY))


def lends(call: Call, alone: bool) -> bool:
    """Whether the call's events may be memory of the user's objects: one call runs at a time, so nothing changes them before the
    next one begins. Where others may run beside it (alone is false), an event has a copy from the beginning.
    """
    return alone and call.queue is None


def in_memory(journal: Journal, id: str) -> bool:
    """Whether the last event of the call is kept as it was given."""
    entry = journal.find(id)
    return bool(entry is not None and entry.events and entry.events[-1][2] == 0)
