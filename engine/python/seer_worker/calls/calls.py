"""A call on its way through the worker, and who waits for it."""

import re
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Union

from ..process.context import Scope
from ..process.gpu_memory import NOTHING
from ..transport.connection import Connection
from ..transport.frames import FrameError
from ..values.body import BodyReader, Buffer, value_parts

_NAME = re.compile(r"[A-Za-z0-9_.\-]{8,100}").fullmatch
_AHEAD = 1 << 20  # bytes of items that a generator may be ahead of who uses them
_LINGER, _LINGER_RUNTIME = 10.0, 150.0

MAIN = "main"  # the token of who serves
_LONGEST_NAME = 500
QUEUED, RUNNING, ENDING, ENDED = "queued", "running", "ending", "ended"


class Follower:
    """A connection that wants the events of a call."""

    __slots__ = ("connection", "id", "next", "output", "used", "source")

    def __init__(self, connection: Connection, id: str, first: int, output: bool) -> None:
        self.connection, self.id, self.output = connection, id, output
        self.next = first  # the event that is to be sent next
        self.used = first - 1  # the client has room for what comes after this one
        self.source: Optional[Iterator[Any]] = None  # of earlier events, from the journal


class Call:
    """One call, under one name. Belongs to whoever has the service's lock, but for what its run alone touches."""

    __slots__ = (
        "id", "fn", "token", "client", "body", "tagged", "timeout", "output", "handle_above", "linger", "detached", "deflate",
        "state", "reason", "followers", "last", "queued_at", "started_at", "began", "deadline", "position", "told_at", "left_at",
        "stop", "again_at", "scope", "order", "items", "ahead", "room", "limit", "metered", "queue", "gpu")

    def __init__(self, header: Dict[str, Any], body: Union[bytes, BodyReader], token: str, client: str) -> None:
        self.id: str = header.get("id", "")
        self.fn: str = header.get("fn", "")
        self.token = token
        self.client = client
        self.body: Union[bytes, BodyReader] = body
        self.timeout = 0.0
        self.gpu = NOTHING  # what it has used, once it has run
        self.handle_above: Optional[int] = None
        self.linger: Optional[float] = None
        self.tagged = self.output = self.detached = self.deflate = False
        if not _NAME(self.id) or type(self.fn) is not str or not 0 < len(self.fn) <= _LONGEST_NAME:
            raise FrameError("a call needs a name of 8 to 100 letters, digits, _ . -, and that of a function")
        if "output" in header and len(header) == 4:  # as most calls have it
            self.output = header["output"] is True
        elif len(header) > 3 or "t" not in header:
            self._take(header)
        self.state = QUEUED
        self.reason = ""  # why it was interrupted
        self.followers: List[Follower] = []
        self.last = 0  # the number of the newest event
        self.queued_at = time.time()
        self.started_at = 0.0
        self.began = 0.0  # by the monotonic clock
        self.deadline = 0.0
        self.position = -1  # as it was told last
        self.told_at = 0.0
        self.left_at = 0.0  # when nobody waits for it any more, and it is not detached: when it is cancelled
        self.stop: Optional[Callable[[str], None]] = None  # interrupts it
        self.again_at = 0.0
        self.scope: Optional[Scope] = None
        self.order: Optional[threading.Lock] = None  # of events that come from several threads
        self.items: Deque[Any] = deque()  # numbers and sizes of items that not everybody has used
        self.ahead = 0
        self.room: Optional[Callable[[], Any]] = None  # tells a generator that waits for room
        self.limit = ""  # whose limit the deadline is
        self.metered = False
        self.queue: Any = None

    def _take(self, header: Dict[str, Any]) -> None:
        """The options."""
        timeout, self.linger, above = header.get("timeout"), header.get("linger"), header.get("handle_above")
        if not all(v is None or is_seconds(v) for v in (timeout, self.linger, above)):
            raise FrameError("timeout, linger and handle_above must be numbers that are not negative")
        self.timeout = 0.0 if timeout is None else timeout
        self.handle_above = None if above is None else int(above)
        self.tagged = header.get("tagged") is True
        self.output = header.get("output") is True
        self.detached = header.get("detach") is True
        self.deflate = header.get("deflate") is True

    def parts(self) -> List[Buffer]:
        """The arguments as they came: JSON, and buffers. ValueError."""
        body = self.body
        return value_parts(body) if isinstance(body, bytes) else body.parts()

    def options(self) -> Dict[str, Any]:
        """OPTIONS as a journal has them: made of what was understood, never of what else the client has written there."""
        said: Dict[str, Any] = {"tagged": self.tagged, "timeout": self.timeout, "output": self.output, "detach": self.detached,
                                "deflate": self.deflate}
        said = {name: value for name, value in said.items() if value}
        said.update({name: value for name, value in (("handle_above", self.handle_above), ("linger", self.linger)) if value is not None})
        return said

    @property
    def weight(self) -> int:
        """Bytes of arguments that wait."""
        return len(self.body) if isinstance(self.body, bytes) else self.body._size

    def patience(self, connection: Connection) -> float:
        """How long it goes on when the connection was the last one that waited for it."""
        if connection.runtime:  # whose end may be only that of the runtime
            return max(self.linger if self.linger is not None else _LINGER_RUNTIME, _LINGER)
        return self.linger if self.linger is not None else _LINGER

    def has_room(self) -> bool:
        """Whether a generator may go on."""
        if not self.followers or not self.items:
            return True
        used = min(f.used for f in self.followers)
        while self.items and self.items[0][0] <= used:
            self.ahead -= self.items.popleft()[1]
        return not self.items or self.ahead < _AHEAD

    def as_dict(self) -> Dict[str, Any]:
        """CALL, while it is queued or runs."""
        said: Dict[str, Any] = {
            "id": self.id, "function": self.fn, "state": QUEUED if self.state == QUEUED else RUNNING,
            "token": self.token, "client": self.client,
            "detached": self.detached, "followed": bool(self.followers), "queued_unix": round(self.queued_at, 6)}
        if self.started_at:
            said["started_unix"] = round(self.started_at, 6)
            said["seconds"] = round(time.time() - self.started_at, 6)
        return said


def is_name(text: Any) -> bool:
    """Whether a call may be called so."""
    return isinstance(text, str) and _NAME(text) is not None


def is_seconds(value: Any) -> bool:
    """A number of seconds, or of bytes."""
    return type(value) in (int, float) and 0 <= value < 1e15


def client_of(header: Dict[str, Any], connection: Connection) -> str:
    """Who shares a turn in the queue."""
    named = header.get("client")
    if named and isinstance(named, str):
        return str(named[:200])
    if connection.client:
        return connection.client
    before, dash, _ = header.get("id", "").rpartition("-")
    return before if dash and before else "connection %d" % id(connection)
