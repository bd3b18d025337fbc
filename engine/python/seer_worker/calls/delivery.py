"""Brings the events of calls to those who wait for them."""

import json
from typing import Any, Dict, List, Sequence, Set

from ..journal.journal import Entry, Journal
from ..transport.connection import Connection
from ..transport.errors import CallErrorDict, call_error
from ..transport.frames import ONE_PIECE, begin
from ..transport.poller import Poller
from ..values.body import Buffer
from .calls import Call, Follower

_LOOK = 0.25  # seconds between looks whether a call of the worker before this one has ended


class Delivery:
    """Belongs to whoever has the service's lock. An event that cannot leave at once is read from the journal later."""

    def __init__(self, journal: Journal, poller: Poller) -> None:
        self._journal, self._poller = journal, poller
        self.calls: Dict[str, Call] = {}  # the scheduler's
        self._elsewhere: Set[Follower] = set()
        self._look_at = 0.0

    def event(self, call: Call, kind: str, parts: Sequence[Buffer], borrowed: bool = False) -> List[Connection]:
        """The newest event of the call, whose number is call.last. Gives back who has some of borrowed memory to take."""
        n, slow = call.last, []
        for follower in call.followers if kind != "end" else tuple(call.followers):
            connection = follower.connection
            if connection.followers.get(call.id) is not follower:  # it has had the answer from the journal
                continue
            if follower.next != n or follower.source is not None or (connection.out and kind != "end"):
                if not connection.out:
                    self.feed(follower)
                continue  # it is behind, and gets this one from the journal
            follower.next = n + 1
            if kind == "output" and not follower.output:
                continue
            connection.send(parts, borrowed)
            if connection.out and not connection.writing:
                if connection.borrowed:
                    slow.append(connection)
                else:
                    self.watch(connection)
            if kind == "end":
                self._done(follower)
        return slow

    def _done(self, follower: Follower) -> None:
        connection = follower.connection
        connection.followers.pop(follower.id, None)
        if not connection.runtime:
            connection.answered.append(follower.id)

    def feed(self, follower: Follower) -> None:
        """Sends what the follower has not had yet, as long as its client takes it."""
        connection = follower.connection
        while not connection.out and not connection.closed:
            event = self._next(follower)
            if event is None:
                return
            follower.next = event.n + 1
            if event.missing:
                self.refuse(connection, follower.id, _lost(follower.id))
                self._done(follower)
                return
            if event.kind != "output" or follower.output:
                connection.send(framed(event.header, event.body))
            if event.kind in ("result", "error"):
                self._done(follower)
                break
        if connection.out:
            self.watch(connection)

    def _next(self, follower: Follower) -> Any:
        """The next event from the journal; None if there is none for now."""
        call = self.calls.get(follower.id)
        while True:
            fresh = follower.source is None
            if fresh:
                if call is not None and follower.next > call.last:
                    return None
                follower.source = self._journal.events(follower.id, follower.next)
            event = next(follower.source, None)  # type: ignore[arg-type]
            if event is not None:
                return event
            follower.source = None
            if fresh and call is None:
                self._without_end(follower)
            if fresh:  # of a call that runs, its record is being written in this moment: event comes again with it
                return None

    def _without_end(self, follower: Follower) -> None:
        entry = self._journal.find(follower.id)
        if entry is not None and (entry.elsewhere or entry.events and entry.events[-1][0] >= follower.next):
            self._elsewhere.add(follower)  # it runs, or has ended in this moment
            return
        self.refuse(follower.connection, follower.id, _given_up(follower.id))
        follower.connection.followers.pop(follower.id, None)

    def replay(self, connection: Connection, first: int, entry: Entry) -> None:
        """The answer of a call that has ended, or that the worker before this one has."""
        if not entry.answered and not entry.elsewhere:
            self.refuse(connection, entry.id, _given_up(entry.id))
            return
        follower = connection.followers[entry.id] = Follower(connection, entry.id, first, True)
        self.feed(follower)

    def refuse(self, connection: Connection, id: str, error: CallErrorDict) -> None:
        """An answer that is not remembered."""
        head = json.dumps({"t": "error", "id": id, "error": error}).encode("ascii")
        connection.short([begin(head, 0)])
        if connection.out:
            self.watch(connection)

    def note(self, call: Call, header: Dict[str, Any]) -> None:
        """Something that is not an event: it is not kept."""
        data = json.dumps(header).encode("ascii")
        for follower in call.followers:
            if not follower.connection.out:
                follower.connection.send([begin(data, 0)])
                if follower.connection.out:
                    self.watch(follower.connection)

    def writable(self, connection: Connection) -> None:
        """There is room again."""
        if connection.writing:
            return
        connection.flush()
        for follower in list(connection.followers.values()):
            if connection.out or connection.closed:
                break
            self.feed(follower)
        if not connection.out and connection.watched and not connection.closed:
            connection.watched = False
            self._poller.change(connection.fd, connection.reads, False)

    def watch(self, connection: Connection) -> None:
        """From now on the poller tells when there is room."""
        if not connection.watched and not connection.closed:
            connection.watched = True
            self._poller.change(connection.fd, connection.reads, True)

    def hand_over(self, call: Call) -> None:
        """A call that waited in the worker before this one is here now, and so are those who wait for it."""
        for follower in [f for f in self._elsewhere if f.id == call.id]:
            self._elsewhere.discard(follower)
            if follower.connection.followers.get(call.id) is follower:
                call.followers.append(follower)

    def tick(self, now: float) -> float:
        """Looks for the ends of calls of the worker before this one."""
        if not self._elsewhere:
            return 60.0
        if now >= self._look_at:
            self._look_at = now + _LOOK
            followers, self._elsewhere = self._elsewhere, set()
            for follower in followers:
                if not follower.connection.closed:
                    self._journal.find(follower.id)  # reads what has been written since
                    self.feed(follower)
        return max(0.0, self._look_at - now) if self._elsewhere else 60.0


def framed(header: bytes, body: Any) -> List[Buffer]:
    """The buffers of a frame; body is bytes or buffers. A small one is a single buffer."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        if len(body) <= ONE_PIECE:
            return [begin(header, len(body)) + body]
        return [begin(header, len(body)), body]
    return [begin(header, sum(map(len, body))), *body]


def _lost(id: str) -> CallErrorDict:
    return call_error("interrupted", "the answer of %s was too large to be kept, and its worker is gone; it was not repeated" % id)


def _given_up(id: str) -> CallErrorDict:
    return call_error("unknown_call", "the answer of %s has been given up: it was acknowledged, or is too old" % id, "LookupError")


