"""Takes the frames of clients: begins calls, joins calls that run, finds answers that were given."""

import json
from functools import partial
from typing import Any, Callable, Dict, List, Optional

from ..journal.journal import Body, Entry, Journal, JournalFull
from ..journal.recording import Recording
from ..policy.limits import Limits, Refused
from ..transport.connection import Connection
from ..transport.errors import call_error
from ..transport.frames import Frame, FrameError, begin
from ..values.body import pack_body
from .calls import MAIN, QUEUED, RUNNING, Call, Follower, client_of, is_name, is_seconds
from .delivery import Delivery
from .queues import Table
from .scheduler import Scheduler

_QUEUE = 10_000
_LISTED = 1000  # calls that have ended
_LONG_LIST = 64 << 10


class Dispatcher:
    """Belongs to whoever holds the service's lock."""

    def __init__(self, scheduler: Scheduler, journal: Journal, limits: Limits, table: Table, delivery: Delivery, most: int = 0,
                 record: "bool | Recording" = False) -> None:
        """most: so many calls may wait."""
        self._scheduler, self._journal, self._limits, self._table, self._delivery = scheduler, journal, limits, table, delivery
        self._most, self._record = most or _QUEUE, record
        self.leaving = False  # another worker takes its place
        self._owns = owns
        self._kinds: Dict[str, Callable[[Connection, Frame], None]] = {
            "call": self._call, "attach": self._attach, "cancel": self._cancel, "ack": self._ack, "more": self._more, "calls": self._list}

    def frame(self, connection: Connection, frame: Frame) -> None:
        """FrameError if it breaks the rules. A kind that is not known is ignored."""
        take = self._kinds.get(frame.header["t"])
        if take is not None:
            take(connection, frame)

    def _call(self, connection: Connection, frame: Frame) -> None:
        header = frame.header
        token = _token(connection, header)
        self._acknowledge(connection, header, token)
        call = Call(header, frame.body, token, client_of(header, connection))
        if self._known(connection, header, call.id, token):
            return
        if self.leaving:
            self._turn_away(connection, call)
            return
        age = header.get("age")
        if age and is_seconds(age) and not self._journal.reaches(age):
            error = call_error("interrupted", "whether %s ran %g seconds ago is not known any more; it was not repeated" % (call.fn, age))
            self._delivery.refuse(connection, call.id, error)
            return
        if not self._fits(connection, call):
            return
        function = self._table.functions.get(call.fn)
        self._follow(connection, header, call)
        if function is None:
            message = "there is no function %r; exposed are: %s" % (call.fn, self._table.exposed(partial(self._limits.allows, token)))
            self._scheduler.decline(call, call_error("unknown_function", message, "LookupError"))
        else:
            call.queue = self._table.queue(function)
            self._scheduler.queue(call)

    def leave(self) -> None:
        """No more calls are taken. All that are here are in the journal, so that the next worker does not begin one a second time."""
        self.leaving = self._journal.leaving = True
        for call in list(self._scheduler.calls.values()):
            if call.state in (QUEUED, RUNNING) and self._journal.find(call.id) is None:  # one that runs may be about to be written
                try:
                    self._journal.queued(call.id, call.fn, call.token, call.client, call.options(), b"")
                except JournalFull as e:
                    if call.state == QUEUED:
                        self._scheduler.send_away(call, call_error("busy", str(e)))

    def stay(self) -> None:
        """No other worker takes its place after all."""
        self.leaving = self._journal.leaving = False

    def _turn_away(self, connection: Connection, call: Call) -> None:
        """The next worker may have it already."""
        if not connection.runtime:
            raise FrameError("another worker takes the calls that come now")  # its client makes another connection
        message = "another worker takes the place of the one that was asked; the call did not run, send it again"
        self._delivery.refuse(connection, call.id, call_error("busy", message, "leaving"))

    def _full(self, token: str) -> str:
        """Why no more calls of the token may wait; one that was given away has half of the room."""
        waiting = len(self._scheduler.calls) - len(self._scheduler.running)
        if waiting >= self._most:
            return "%d calls are waiting, and more may not" % self._most
        queues = self._scheduler.fair_queues
        if token != MAIN and 2 * waiting >= self._most and 2 * sum(queue.of(token) for queue in queues()) >= self._most:
            return "half of the %d calls that may wait are this token's, and more of it may not" % self._most
        return ""

    def _fits(self, connection: Connection, call: Call) -> bool:
        """Whether the call may be kept. One that may not is answered, and may be sent again under its name."""
        try:
            self._limits.check(call.token, call.fn)
            full = self._full(call.token)
            if full:
                self._delivery.refuse(connection, call.id, call_error("busy", "%s; the call did not run, send it again later" % full))
                return False
            if call.detached or self._record:
                self._journal.queued(call.id, call.fn, call.token, call.client, call.options(), _whole(call))
            return True
        except Refused as e:
            self._journal.refused(call.id, call.fn, call.token, str(e))
            self._delivery.refuse(connection, call.id, call_error("refused", str(e), "PermissionError"))
        except JournalFull as e:
            self._delivery.refuse(connection, call.id, call_error("busy", str(e)))
        return False

    def _attach(self, connection: Connection, frame: Frame) -> None:
        id = frame.header.get("id")
        if not is_name(id):
            raise FrameError("attach needs the name of a call")
        self._arrived(frame.header, _token(connection, frame.header))
        # The runtime asks without a token for somebody who may see all calls.
        sees_all = not frame.header.get("token") if connection.runtime else connection.sees_all
        if not self._known(connection, frame.header, str(id), _token(connection, frame.header), sees_all):
            message = "no call %s is known here; its answer has been given up, or it never came" % id
            error = call_error("unknown_call", message, "LookupError")
            self._delivery.refuse(connection, str(id), error)

    def _known(self, connection: Connection, header: Dict[str, Any], id: str, token: str, sees_all: bool = False) -> bool:
        """Whether there is such a call already; then the connection follows it, or has its answer."""
        call = self._scheduler.calls.get(id)
        entry: Optional[Entry] = None if call is not None else self._journal.find(id)
        if entry is not None and self._journal.again:
            self._scheduler.take_over()
            call = self._scheduler.calls.get(id)
        owner = call.token if call is not None else entry.token if entry is not None else token
        if not sees_all and not self._owns(token, owner):
            message = "the name %s is that of another token's call" % id
            self._delivery.refuse(connection, id, call_error("refused", message, "PermissionError"))
        elif call is not None:
            if header.get("detach") is True:
                self._detach(call)
            self._follow(connection, header, call)
        elif entry is not None:
            self._delivery.replay(connection, _first(header), entry)
        else:
            return False
        return True

    def _detach(self, call: Call) -> None:
        """The call goes on with nobody waiting, also where it was made without that. It stays as it was if the journal cannot keep it."""
        waits, call.detached = call.state == QUEUED, True
        try:
            self._journal.queued(call.id, call.fn, call.token, call.client, call.options(), _whole(call) if waits else b"")
        except JournalFull:
            call.detached = False

    def _follow(self, connection: Connection, header: Dict[str, Any], call: Call) -> None:
        earlier = connection.followers.pop(call.id, None)
        if earlier in call.followers:
            call.followers.remove(earlier)
        follower = Follower(connection, call.id, _first(header), header.get("output") is True or call.output)
        connection.followers[call.id] = follower
        call.followers.append(follower)
        self._scheduler.lingering.discard(call)
        if follower.next <= call.last:
            self._delivery.feed(follower)

    def _cancel(self, connection: Connection, frame: Frame) -> None:
        call = self._scheduler.calls.get(frame.header.get("id", ""))
        if call is not None and self._owns(_token(connection, frame.header), call.token):
            self._scheduler.stop(call, "cancelled")

    def _ack(self, connection: Connection, frame: Frame) -> None:
        self._give_up(frame.header.get("id", ""), _token(connection, frame.header))
        connection.answered = [a for a in connection.answered if a != frame.header.get("id")]

    def _acknowledge(self, connection: Connection, header: Dict[str, Any], token: str) -> None:
        """The next call says that the answers before it have arrived, unless its client says so itself."""
        if self._arrived(header, token):
            connection.explicit = True
        if connection.answered:
            if not connection.explicit and not connection.runtime:
                for id in connection.answered:
                    self._journal.acked(id)
            connection.answered = []

    def _arrived(self, header: Dict[str, Any], token: str) -> bool:
        """Whether the client names answers that have arrived; these need not be kept."""
        named = header.get("ack")
        if not isinstance(named, list):
            return False
        for id in named:
            self._give_up(id, token)
        return True

    def _give_up(self, id: Any, token: str) -> None:
        entry = self._journal.find(id) if isinstance(id, str) else None
        if entry is not None and self._owns(token, entry.token):
            self._journal.acked(id)

    def _more(self, connection: Connection, frame: Frame) -> None:
        follower, n = connection.followers.get(frame.header.get("id", "")), frame.header.get("n")
        if follower is not None and type(n) is int:
            follower.used = max(follower.used, n)
            self._scheduler.room(self._scheduler.calls.get(follower.id))

    def _list(self, connection: Connection, frame: Frame) -> None:
        token, id = _token(connection, frame.header), frame.header.get("id")
        owner = None if connection.runtime and "token" not in frame.header else token
        said = self._all(owner) if id is None else self._one(id, owner)
        if any(c["state"] == QUEUED for c in said):
            positions = {c.id: p for queue in self._scheduler.fair_queues() for p, c in enumerate(queue.order())}
            for call in said:
                if call["id"] in positions:
                    call["position"] = positions[call["id"]]
        body = json.dumps(sorted(said, key=lambda c: c.get("queued_unix") or c.get("started_unix") or 0)).encode()
        head = json.dumps({"t": "calls", **({"id": id} if id else {})}).encode()
        connection.listed = len(body) > _LONG_LIST and not connection.runtime
        connection.short([begin(head, len(body)) + body])

    def _all(self, owner: Optional[str]) -> List[Dict[str, Any]]:
        """Of one token, or of all: those that wait or run, and the newest that have ended."""
        calls = self._scheduler.calls
        ended = [e.call() for e in self._journal.calls(owner, None if owner is None else _LISTED) if e.id not in calls]
        return ended + [c.as_dict() for c in calls.values() if owner in (None, c.token)]

    def _one(self, id: str, owner: Optional[str]) -> List[Dict[str, Any]]:
        call = self._scheduler.calls.get(id)
        if call is not None:
            return [call.as_dict()] if owner in (None, call.token) else []
        entry = self._journal.find(id)
        return [entry.call()] if entry is not None and owner in (None, entry.token) else []


def owns(token: str, owner: str) -> bool:
    """Whether the token may hear of the owner's call. A call of which a journal of old does not tell the owner is main's."""
    return token == (owner or MAIN)


def _whole(call: Call) -> Body:
    """The arguments for the journal; nothing of those that cannot be read, of which the run will tell."""
    try:
        return call.body if isinstance(call.body, bytes) else pack_body(call.parts())
    except ValueError:
        return b""


def _token(connection: Connection, header: Dict[str, Any]) -> str:
    token = header.get("token") if connection.runtime else None
    return token if token and isinstance(token, str) else connection.token


def _first(header: Dict[str, Any]) -> int:
    first = header.get("from")
    return first if type(first) is int and first > 1 else 1
