"""The journal of a service: which calls there were, and the answers that may still be asked for. docs/protocol.md, 5 and 7."""

from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

Body = Union[bytes, Sequence[Any]]  # bytes, or buffers that are written one after the other


class JournalFull(Exception):
    """Nothing can be written now; the call must not run (`busy`). Its text says why and what to do."""


class Event(NamedTuple):
    """One of output, item, result, error; header is the JSON of its frame (with "time", which a client ignores)."""

    n: int
    kind: str
    header: bytes
    body: Any  # bytes, or what was given to the journal, where it was kept in memory
    missing: bool  # the body was too large to be kept, and its worker is gone: answer `interrupted`


class Entry:
    """What is known of a call."""

    __slots__ = ("id", "fn", "token", "client", "state", "detached", "queued", "started", "ended", "seconds", "acked",
                 "answered", "bytes", "error", "events")

    id: str
    fn: str
    token: str
    client: str
    state: str  # queued, running, done, failed, cancelled, interrupted
    detached: bool
    queued: float  # unix seconds; 0 = unknown
    started: float
    ended: float
    acked: bool
    answered: bool  # its events are still there; without, a repeat is `unknown_call`

    def call(self) -> Dict[str, Any]:
        """CALL, without position and followed."""
        raise NotImplementedError


class Again(NamedTuple):
    """A detached call that was still queued when its worker died: it has to be queued again."""

    id: str
    fn: str
    token: str
    client: str
    options: Dict[str, Any]  # the header it was journaled with
    body: bytes


class Journal:
    """Thread-safe. Every method is short; none waits for the disk."""

    def __init__(self, folder: Optional[str], limits: Optional[Mapping[str, Any]] = None, record: bool = False, generation: int = 0,
                 code_hash: str = "", models: Sequence[Mapping[str, Any]] = (),
                 use: Callable[[], Mapping[str, Any]] = dict) -> None:
        """Reads what is in folder and begins a new segment there; folder None = everything in memory only.

        use gives USE of every token, for the first record of each segment. What was read of it is in self.use.
        """
        self.use: Dict[str, Dict[str, Any]] = {}
        self.again: List[Again] = []
        raise NotImplementedError

    # --- before a call

    def find(self, id: str) -> Optional[Entry]:
        """The call that has the name, if it is remembered. It must then never run again (unless it is in self.again)."""
        raise NotImplementedError

    def reaches(self, age: float) -> bool:
        """Whether a call first sent that many seconds ago would be known here; if not, a repeat is `interrupted`."""
        raise NotImplementedError

    def queued(self, id: str, fn: str, token: str, client: str, options: Mapping[str, Any], body: Body) -> Entry:
        """Only for a detached call, or with record. JournalFull: it must not run."""
        raise NotImplementedError

    def started(self, id: str, fn: str, token: str, client: str) -> Entry:
        """Must come before the function runs. JournalFull: it must not run."""
        raise NotImplementedError

    def forget(self, id: str) -> None:
        """For a queued call that did not run and may be sent again (`busy`, `unavailable`)."""
        raise NotImplementedError

    def refused(self, id: str, fn: str, token: str, reason: str) -> None:
        """A token's limits forbade the call."""
        raise NotImplementedError

    # --- events; what cannot be written is kept in memory

    def output(self, id: str, n: int, stream: int, text: str) -> bytes:
        """Returns the header of the event; its body is the text in UTF-8. The same for the other three."""
        raise NotImplementedError

    def item(self, id: str, n: int, body: Body, tagged: bool = False) -> bytes:
        raise NotImplementedError

    def result(self, id: str, n: int, body: Body, tagged: bool = False, seconds: float = 0.0) -> bytes:
        raise NotImplementedError

    def error(self, id: str, n: int, error: Mapping[str, Any], seconds: float = 0.0) -> bytes:
        """error is scrubbed CALL_ERROR. Also ends calls that never started (cancelled in the queue)."""
        raise NotImplementedError

    def keep(self, id: str, n: int, body: Body) -> None:
        """Replaces the body of an event that is kept in memory by a copy that nobody changes."""
        raise NotImplementedError

    # --- afterwards

    def events(self, id: str, first: int = 1) -> Iterator[Event]:
        """The events from number first on, in order, read one by one."""
        raise NotImplementedError

    def acked(self, id: str) -> None:
        """The answer has arrived: it need not be kept. Unknown names and running calls are ignored."""
        raise NotImplementedError

    def calls(self, token: Optional[str] = None) -> List[Entry]:
        """All that are remembered, oldest first; of one token, or of all."""
        raise NotImplementedError

    def drained(self, segment: int) -> None:
        """The recorder has all up to and with that segment."""
        raise NotImplementedError

    def sweep(self) -> None:
        """Forgets what is old. The journal does it by itself while calls come; an idle worker may do it once a minute."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
