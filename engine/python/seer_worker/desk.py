"""Takes the frames of clients: begins calls, joins calls that run, finds answers that were given, ends calls."""

import json
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Set

from . import children
from .calls import ENDED, QUEUED, RUNNING, Call, Follower, client_of, is_name, is_seconds
from .connection import Connection
from .errors import CallErrorDict, call_error
from .frames import Frame, FrameError, begin
from .journal import Again, Entry, Journal, JournalFull
from .lanes import Lane, Table
from .limits import Limits, Refused
from .page import Page
from .post import Post
from .turns import Turns
from .values_body import pack_body

_AGAIN = 5.0  # seconds until a call that did not end is interrupted again
TELL_AFTER = 0.2  # seconds in the queue
_QUEUE = 10_000


class Desk:
    """Everything in it belongs to whoever holds lock. start begins a call beside others; it is the runner's."""

    def __init__(self, lock: threading.Lock, page: Page, journal: Journal, limits: Limits, table: Table, post: Post, most: int = 0,
                 record: bool = False) -> None:
        self.lock = lock
        self.calls: Dict[str, Call] = {}
        self.waiting: Turns[Call] = Turns()  # for the main thread
        self.inline: Deque[Call] = deque()  # calls so short that the main thread runs them in passing
        self.running: Set[Call] = set()
        self.start: Callable[[Call, Lane], None] = lambda call, lane: None
        self.poke: Callable[[], None] = lambda: None  # wakes who waits for events
        self._page, self._journal, self._limits, self._table, self._post = page, journal, limits, table, post
        self._most, self._record = most or _QUEUE, record
        self.lingering: Set[Call] = set()
        self.tell_at = 0.0
        self._kinds: Dict[str, Callable[[Connection, Frame], None]] = {
            "call": self._call, "attach": self._attach, "cancel": self._cancel, "ack": self._ack, "more": self._more, "calls": self._list}

    # --- frames

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
        age = header.get("age")
        if age and is_seconds(age) and not self._journal.reaches(age):
            error = call_error("interrupted", "whether %s ran %g seconds ago is not known any more; it was not repeated" % (call.fn, age))
            self._post.refuse(connection, call.id, error)
            return
        if self._enter(connection, call, header):
            self._follow(connection, header, call)
            self.queue(call)

    def _enter(self, connection: Connection, call: Call, header: Dict[str, Any]) -> bool:
        """Whether the call is one that may wait for its turn."""
        try:
            if not call.fn.startswith("$"):
                self._limits.check(call.token, call.fn)
            function = self._table.functions.get(call.fn)
            if function is None:
                message = "there is no function %r; exposed are: %s" % (call.fn, self._table.exposed())
                raise _Unfit(call_error("unknown_function", message, "LookupError"))
            if len(self.calls) - len(self.running) >= self._most:
                message = "%d calls are waiting, and more may not; the call did not run, send it again later" % self._most
                raise _Unfit(call_error("busy", message))
            if call.detached or self._record:
                body = call.body if isinstance(call.body, bytes) else pack_body(call.parts())
                options = {k: v for k, v in header.items() if k not in ("t", "from", "age", "ack")}
                self._journal.queued(call.id, call.fn, call.token, call.client, options, body)
        except Refused as e:
            self._journal.refused(call.id, call.fn, call.token, str(e))
            self._post.refuse(connection, call.id, call_error("refused", str(e), "PermissionError"))
        except JournalFull as e:
            self._post.refuse(connection, call.id, call_error("busy", str(e)))
        except ValueError as e:
            raise FrameError(str(e)) from None
        except _Unfit as e:
            self._post.refuse(connection, call.id, e.error)
        else:
            call.lane = self._table.lane(function)
            return True
        return False

    def queue(self, call: Call) -> None:
        """Its place in the line, or its beginning where it may run beside others."""
        self.calls[call.id] = call
        self._page.begin()
        lane = call.lane
        if lane is None:
            self.waiting.push(call.token, call.client, call)
        elif lane.running < lane.limit:
            lane.running += 1
            self.begin(call)
            self.start(call, lane)
            return
        else:
            lane.waiting.push(call.token, call.client, call)
        if not self.tell_at:
            self.tell_at = time.monotonic() + TELL_AFTER

    def again(self, again: Again) -> None:
        """A detached call that waited when the worker before this one died."""
        header = {**again.options, "id": again.id, "fn": again.fn}
        call = Call(header, again.body, again.token, again.client)
        function = self._table.functions.get(call.fn)
        call.queued_at = again.queued or call.queued_at
        call.lane = self._table.lane(function) if function is not None else None
        self.queue(call)

    def begin(self, call: Call) -> None:
        """Its turn has come."""
        call.state = RUNNING
        self.running.add(call)

    def _attach(self, connection: Connection, frame: Frame) -> None:
        id = frame.header.get("id")
        if not is_name(id):
            raise FrameError("attach needs the name of a call")
        self._arrived(frame.header, _token(connection, frame.header))
        if not self._known(connection, frame.header, str(id), _token(connection, frame.header)):
            message = "no call %s is known here; its answer has been given up, or it never came" % id
            error = call_error("unknown_call", message, "LookupError")
            self._post.refuse(connection, str(id), error)

    def _known(self, connection: Connection, header: Dict[str, Any], id: str, token: str) -> bool:
        """Whether there is such a call already; then the connection follows it, or has its answer."""
        call = self.calls.get(id)
        entry: Optional[Entry] = None if call is not None else self._journal.find(id)
        owner = call.token if call is not None else entry.token if entry is not None else token
        if owner and owner != token:
            self._post.refuse(connection, id, call_error("refused", "the name %s is that of another token's call" % id, "PermissionError"))
        elif call is not None:
            self._follow(connection, header, call)
        elif entry is not None:
            self._post.replay(connection, _first(header), entry)
        else:
            return False
        return True

    def _follow(self, connection: Connection, header: Dict[str, Any], call: Call) -> None:
        earlier = connection.followers.pop(call.id, None)
        if earlier in call.followers:
            call.followers.remove(earlier)
        follower = Follower(connection, call.id, _first(header), header.get("output") is True or call.output)
        connection.followers[call.id] = follower
        call.followers.append(follower)
        self.lingering.discard(call)
        if follower.next <= call.last:
            self._post.feed(follower)

    def _cancel(self, connection: Connection, frame: Frame) -> None:
        call = self.calls.get(frame.header.get("id", ""))
        if call is not None and call.token == _token(connection, frame.header):
            self.stop(call, "cancelled")

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
        if entry is not None and entry.token == token:
            self._journal.acked(id)

    def _more(self, connection: Connection, frame: Frame) -> None:
        follower, n = connection.followers.get(frame.header.get("id", "")), frame.header.get("n")
        if follower is not None and type(n) is int:
            follower.used = max(follower.used, n)
            self.room(self.calls.get(follower.id))

    def room(self, call: Optional[Call]) -> None:
        """Wakes the generator of the call if it may go on."""
        if call is not None and call.room is not None and call.has_room():
            call.room()

    def _list(self, connection: Connection, frame: Frame) -> None:
        token, id = _token(connection, frame.header), frame.header.get("id")
        everybody = connection.runtime and "token" not in frame.header
        positions = {c.id: p for turns in self.turns() for p, c in enumerate(turns.order())}
        said = {e.id: e.call() for e in self._journal.calls(None if everybody else token)}
        for call in self.calls.values():
            if everybody or call.token == token:
                said[call.id] = call.as_dict()
                if call.state == QUEUED:
                    said[call.id]["position"] = positions.get(call.id, 0)
        listed = [c for c in said.values() if id is None or c["id"] == id]
        body = json.dumps(sorted(listed, key=lambda c: c.get("queued_unix") or c.get("started_unix") or 0)).encode()
        head = json.dumps({"t": "calls", **({"id": id} if id else {})}).encode()
        connection.send([begin(head, len(body)) + body])

    # --- ends

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
        lane = call.lane
        if call in self.inline:
            self.inline.remove(call)
            lane.running -= 1
        else:
            (self.waiting if lane is None else lane.waiting).remove(call.token, call.client, call)

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
            self._post.refuse(follower.connection, call.id, error)
        self._leave(call)

    def ended(self, call: Call, parts: Any, borrowed: bool) -> List[Connection]:
        """Gives the answer, which is in the journal already, to all who wait. Gives back who takes it slowly."""
        self._leave(call)
        call.last += 1
        return self._post.event(call, "end", parts, borrowed)

    def _leave(self, call: Call) -> None:
        call.state = ENDED
        self.calls.pop(call.id, None)
        self.running.discard(call)
        self.lingering.discard(call)
        self._page.end()

    def turns(self) -> "List[Turns[Call]]":
        return [self.waiting, *(lane.waiting for lane in self._table.lanes)]


class _Unfit(Exception):
    def __init__(self, error: CallErrorDict) -> None:
        super().__init__(error["message"])
        self.error = error


def _token(connection: Connection, header: Dict[str, Any]) -> str:
    token = header.get("token") if connection.runtime else None
    return token if token and isinstance(token, str) else connection.token


def _first(header: Dict[str, Any]) -> int:
    first = header.get("from")
    return first if type(first) is int and first > 1 else 1


