"""The calls that wait and run: each comes in here, has its turn, and leaves with its answer."""

import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Set

from ..journal.journal import Again, Journal, JournalFull
from ..process import children
from ..transport.connection import Connection
from ..transport.errors import CallErrorDict, call_error
from ..transport.frames import Frame, begin
from ..transport.usage_page import UsagePage
from .calls import ENDED, QUEUED, RUNNING, Call
from .delivery import Delivery
from .fair_queue import FairQueue
from .queues import CallQueue, Table

_AGAIN = 5.0  # seconds until a call that did not end is interrupted again
TELL_AFTER = 0.2  # seconds in the queue


class Scheduler:
    """Everything in it belongs to whoever holds lock. frame takes what a client says; it is the dispatcher's. start begins a call beside
    others; it is the runner's."""

    def __init__(self, lock: threading.Lock, page: UsagePage, journal: Journal, table: Table, delivery: Delivery) -> None:
        self.lock = lock
        self.calls: Dict[str, Call] = {}
        self.waiting: FairQueue[Call] = FairQueue()  # for the main thread
        self.inline: Deque[Call] = deque()  # calls so short that the main thread runs them in passing
        self.running: Set[Call] = set()
        self.frame: Callable[[Connection, Frame], None] = lambda connection, frame: None
        self.start: Callable[[Call, CallQueue], None] = lambda call, queue: None
        self.poke: Callable[[], None] = lambda: None  # wakes who waits for events
        self._page, self._journal, self._table, self._delivery = page, journal, table, delivery
        self.lingering: Set[Call] = set()
        self.tell_at = 0.0

    def queue(self, call: Call) -> None:
        """Its place in the line, or its beginning where it may run beside others."""
        self.calls[call.id] = call
        self._page.begin()
        queue = call.queue
        if queue is None:
            self.waiting.push(call.token, call.client, call)
        elif queue.running < queue.limit:
            queue.running += 1
            self.begin(call)
            self.start(call, queue)
            return
        else:
            queue.waiting.push(call.token, call.client, call)
        if not self.tell_at:
            self.tell_at = time.monotonic() + TELL_AFTER

    def again(self, again: Again) -> None:
        """A detached call that waited when the worker before this one died."""
        header = {**again.options, "id": again.id, "fn": again.fn}
        call = Call(header, again.body, again.token, again.client)
        function = self._table.functions.get(call.fn)
        call.queued_at = again.queued or call.queued_at
        call.queue = self._table.queue(function) if function is not None else None
        entry = self._journal.find(call.id)
        if entry is not None:
            entry.elsewhere = False
        self.queue(call)
        self._delivery.hand_over(call)

    def take_over(self) -> None:
        """Queues what the journal says is to be queued again."""
        again = self._journal.again
        while again:
            self.again(again.pop(0))

    def send_away(self, call: Call, error: CallErrorDict) -> None:
        """The same for one that waits."""
        self._take_back(call)
        self.turned_away(call, error)

    def begin(self, call: Call) -> None:
        """Its turn has come."""
        call.state = RUNNING
        self.running.add(call)

    def room(self, call: Optional[Call]) -> None:
        """Wakes the generator of the call if it may go on."""
        if call is not None and call.room is not None and call.has_room():
            call.room()

    # --- ends

    def decline(self, call: Call, error: CallErrorDict) -> None:
        """Answers a call that has come and never runs; its name is remembered."""
        self.calls[call.id] = call
        self._page.begin()
        self.end(call, error)

    def gone(self, connection: Connection) -> None:
        """Its calls go on for a while without it."""
        for follower in list(connection.followers.values()):
            call = self.calls.get(follower.id)
            if call is None or follower not in call.followers:
                continue
            call.followers.remove(follower)
            if not call.followers and not call.detached:
                patience = call.patience(connection)
                call.left_at = time.monotonic() + patience
                self.lingering.add(call)
                if not patience:
                    self.stop(call, "cancelled")
            self.room(call)
        connection.followers.clear()

    def stop(self, call: Call, reason: str) -> None:
        """Ends it wherever it is."""
        if call.reason or call.state not in (QUEUED, RUNNING):
            return
        call.reason = reason
        if call.state == QUEUED:
            self._take_back(call)
            self.end(call, call_error("cancelled", "the call of %s was cancelled before it began" % call.fn))
        else:
            self.interrupt(call)

    def interrupt(self, call: Call) -> None:
        """Once more, if need be: an interrupt can be swallowed."""
        call.again_at = time.monotonic() + _AGAIN
        if call.stop is not None:
            call.stop(call.reason)
        if call.room is not None:
            call.room()
        if call.scope is not None:
            children.end_soon(call.scope)

    def _take_back(self, call: Call) -> None:
        queue = call.queue
        if call in self.inline:
            self.inline.remove(call)
            queue.running -= 1
        else:
            (self.waiting if queue is None else queue.waiting).remove(call.token, call.client, call)

    def end(self, call: Call, error: CallErrorDict) -> None:
        """Answers a call that has not begun."""
        try:
            if self._journal.find(call.id) is None:
                self._journal.queued(call.id, call.fn, call.token, call.client, {}, b"")
        except JournalFull:
            pass
        header = self._journal.error(call.id, call.last + 1, error)
        self.ended(call, [begin(header, 0)], False)

    def leave_run(self, call: Call, reason: str) -> None:
        """Answers one call of a batch that goes on for others."""
        if reason == "timeout":
            error = call_error("timeout", "%s, in a batch with others, took longer than was allowed" % call.fn, "TimeoutError")
        else:
            error = call_error("cancelled", "the call of %s was cancelled; it was one of a batch, which goes on" % call.fn)
        header = self._journal.error(call.id, call.last + 1, error, max(0.0, time.monotonic() - call.began))
        self.ended(call, [begin(header, 0)], False)

    def turned_away(self, call: Call, error: CallErrorDict) -> None:
        """Answers a call that did not run and may be sent again under its name."""
        for follower in call.followers:
            follower.connection.followers.pop(call.id, None)
            self._delivery.refuse(follower.connection, call.id, error)
        self._leave(call)

    def ended(self, call: Call, parts: Any, borrowed: bool) -> List[Connection]:
        """Gives the answer, which is in the journal already, to all who wait. Gives back who takes it slowly."""
        self._leave(call)
        call.last += 1
        return self._delivery.event(call, "end", parts, borrowed)

    def _leave(self, call: Call) -> None:
        call.state = ENDED
        self.calls.pop(call.id, None)
        self.running.discard(call)
        self.lingering.discard(call)
        self._page.end()

    def fair_queues(self) -> "List[FairQueue[Call]]":
        return [self.waiting, *(queue.waiting for queue in self._table.queues)]
