"""What a journal knows of one call, and of its answer."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..process.gpu_memory import NOTHING

# An event's number, its kind and where it lies: the segment, the offset of its header, the lengths of header and body.
# In memory: segment 0, the header itself, the body itself, and the body's length.
Place = Tuple[int, str, int, Any, Any, int]

GONE = -1  # in place of a segment: the body was too large, and the worker that had it is gone


class Event(NamedTuple):
    """One of output, item, result, error; header is the JSON of its frame (with "time", which a client ignores)."""

    n: int
    kind: str
    header: bytes
    body: Any  # bytes or a memoryview, or what was given to the journal, where it was kept in memory
    missing: bool  # the body is not there any more: answer `interrupted`


class Again(NamedTuple):
    """A detached call that was still queued when its worker died: it has to be queued again."""

    id: str
    fn: str
    token: str
    client: str
    queued: float
    options: Dict[str, Any]  # the header it was journaled with
    body: bytes


class Entry:
    """What is known of a call."""

    __slots__ = ("id", "fn", "token", "client", "state", "detached", "queued", "started", "ended", "seconds", "acked", "answered",
                 "elsewhere", "bytes", "gpu", "error", "events", "arguments")

    def __init__(self, id: str, fn: str, token: str, client: str, state: str, queued: float, started: float) -> None:
        self.id, self.fn, self.token, self.client = id, fn, token, client
        self.state = state  # queued, running, done, failed, cancelled, interrupted
        self.detached = False
        self.queued, self.started, self.ended = queued, started, 0.0  # unix seconds; 0 = unknown, or not yet
        self.seconds = 0.0
        self.acked = False
        self.answered = False  # its events are still there; without, a repeat is `unknown_call`
        self.elsewhere = False  # the worker that this one replaces still runs it: ask again
        self.bytes = 0
        self.gpu = NOTHING
        self.error: Optional[Dict[str, Any]] = None
        self.events: Optional[List[Place]] = None
        self.arguments = 0  # the segment where they are, as long as they are needed

    def call(self) -> Dict[str, Any]:
        """CALL, without position and followed."""
        call = {"id": self.id, "function": self.fn, "state": self.state, "token": self.token, "client": self.client,
                "detached": self.detached, "queued_unix": self.queued}
        if self.started:
            call["started_unix"] = self.started
        if self.ended:
            call.update(ended_unix=self.ended, seconds=self.seconds, bytes=self.bytes)
        if self.gpu.bytes:
            call.update(gpu_bytes=self.gpu.bytes, gpu_seconds=self.gpu.seconds)
        if self.error is not None:
            call["error"] = self.error
        return call

    def begun(self) -> float:
        """No client has sent the call for the first time after this."""
        return self.queued or self.started or self.ended

    def finish(self, state: str, time: float, seconds: float) -> None:
        self.state, self.ended, self.elsewhere = state, time, False
        self.seconds = seconds or (max(0.0, time - self.started) if self.started else 0.0)


def state_of(error: Mapping[str, Any]) -> str:
    """The state of a call that has ended in the error."""
    code = error.get("code")
    return code if code in ("cancelled", "interrupted") else "failed"
