"""The journal of a service: which calls there were, and the answers that may still be asked for. docs/protocol.md, 5 and 7."""

import os
import threading
import time
import weakref
from itertools import islice
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..process.gpu_memory import NOTHING, GPUUse
from .entry import GONE, Again, Entry, Event, Place
from .history import History
from .predecessor import Predecessor, end_with
from .recording import Recording
from .segments import SEGMENT_SIZE, Body, Segments
from .writer import UNDRAINED, JournalFull, Writer, to_json

__all__ = ["Again", "Body", "Entry", "Event", "Journal", "JournalFull"]


class Journal:
    """Thread-safe. Every method is short, none waits for the disk. Names of calls must have been checked: they are ASCII."""

    def __init__(self, folder: Optional[str], limits: Optional[Mapping[str, Any]] = None,
                 record: "bool | Recording" = False, generation: int = 0,
                 code_hash: str = "", models: Sequence[Mapping[str, Any]] = (),
                 use: Optional[Callable[[], Mapping[str, Any]]] = None, died: str = "",
                 datasets: Sequence[Mapping[str, Any]] = (), **sizes: int) -> None:
        """Reads what is in the folder, and begins a segment there; folder None = everything in memory only.

        use gives USE of every token, for the first record of each segment; what has been read of it is in self.use.
        use and code_hash may also be set afterwards, as attributes. died says how the worker before this one ended. sizes are for
        tests: segment, undrained.
        """
        self.code_hash, self._generation, self._models, self._datasets = code_hash, generation, models, datasets
        self._lock = threading.Lock()
        self._names: Dict[Tuple[str, str, str], bytes] = {}
        self._history = history = History(limits or {}, self._release)
        self.read_use: Dict[str, Dict[str, Any]] = {}
        self.use: Callable[[], Mapping[str, Any]] = lambda: history.use
        self.again: List[Again] = []  # to be queued again; whoever does takes them out
        self.leaving = False  # another worker is to go on after this one
        self.whole: Callable[[Any], bool] = lambda body: True  # waits for a body in memory that is still being filled; False: it failed
        store = None
        if folder is not None:
            os.makedirs(folder, 0o700, exist_ok=True)
            store = Segments(folder, sizes.get("segment", SEGMENT_SIZE))
        self._writer = Writer(store, history, self._about, record, sizes.get("undrained", UNDRAINED))
        self._predecessor: Optional[Predecessor] = None
        if store is not None:
            self._predecessor = Predecessor(store, history, self._writer, died)
            self.again, self.read_use = self._predecessor.again, self._predecessor.read_use
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _let_go(reference()))
        self.use = use or self.use

    # --- before a call

    def find(self, id: str) -> Optional[Entry]:
        """The call that has the name, if it is remembered. It must then never run again, unless it is in self.again."""
        if self._predecessor is not None and self._predecessor.waits:
            with self._lock:
                self.again += self._predecessor.read_on(self.leaving)
        return self._history.entries.get(id)

    def reaches(self, age: float) -> bool:
        """Whether a call first sent that many seconds ago would be known here; if not, a repeat is `interrupted`."""
        return time.time() - age >= self._history.reach

    def queued(self, id: str, fn: str, token: str, client: str, options: Mapping[str, Any], body: Body) -> Entry:
        """Only for a detached call, with record, or when another worker comes. One that is known stays as it is, unless it is detached
        while it waits. JournalFull: it must not run."""
        now = time.time()
        own = {"t": "queued", "id": id, "fn": fn, "token": token, "client": client, "time": round(now, 6)}
        header = to_json({**options, **own}).encode()
        with self._lock:
            known, detached = self._history.entries.get(id), options.get("detach") is True
            if known is not None and not (detached and known.state == "queued" and not known.detached):
                known.detached = known.detached or detached
                return known
            number = self._writer.must(header, body)
            entry = self._history.queued(id, fn, token, client, known.queued if known is not None else now, detached)
            if entry.detached and number and self._writer.store is not None:
                entry.arguments = number
                self._writer.store.need(number)
            return entry

    def started(self, id: str, fn: str, token: str, client: str) -> Entry:
        """Must come before the function runs. JournalFull: it must not run."""
        now = time.time()
        header = b'{"t":"started","id":"%b"%b,"time":%.6f}' % (id.encode(), self._name(fn, token, client), now)
        with self._lock:
            self._writer.must(header, b"")
            return self._history.started(id, fn, token, client, now)

    def forget(self, id: str) -> None:
        """For a queued call that did not run and may be sent again (`busy`, `unavailable`)."""
        with self._lock:
            self._history.forget(id)

    def refused(self, id: str, fn: str, token: str, reason: str) -> None:
        """A token's limits forbade the call."""
        header = b'{"t":"refused","id":"%b"%b,"reason":%b,"time":%.6f}' % (
            id.encode(), self._name(fn, token, None), to_json(reason[:1000]).encode(), time.time())
        with self._lock:
            self._writer.write(header)

    # --- events; what cannot be written is kept in memory

    def output(self, id: str, n: int, stream: int, text: str) -> bytes:
        """Returns the header of the event; its body is the text in UTF-8. The same for the other three."""
        header = b'{"t":"output","id":"%b","n":%d,"stream":%d,"time":%.6f}' % (id.encode(), n, stream, time.time())
        return self._event(id, n, "output", header, text.encode("utf-8", "replace"))

    def item(self, id: str, n: int, body: Body, tagged: bool = False) -> bytes:
        """What a generator has yielded. A body in memory is kept by reference: see keep."""
        header = b'{"t":"item","id":"%b","n":%d%b,"time":%.6f}' % (id.encode(), n, _TAGGED[tagged], time.time())
        return self._event(id, n, "item", header, body)

    def result(self, id: str, n: int, body: Body, tagged: bool = False, seconds: float = 0.0, gpu: GPUUse = NOTHING) -> bytes:
        """The answer. One above 16 MiB is kept in memory, by reference (see keep), and is lost with the worker."""
        now = time.time()
        header = b'{"t":"result","id":"%b","n":%d%b,"seconds":%.6f%b,"time":%.6f}' % (
            id.encode(), n, _TAGGED[tagged], seconds, _gpu(gpu), now)
        with self._lock:
            entry = self._history.entries.get(id)
            if entry is not None:
                self._history.event(entry, self._writer.place(n, "result", header, body))
                self._history.ended(entry, "done", now, seconds, gpu)
        return header

    def error(self, id: str, n: int, error: Mapping[str, Any], seconds: float = 0.0, gpu: GPUUse = NOTHING) -> bytes:
        """error is CALL_ERROR, scrubbed. Also ends a call that never started (cancelled in the queue)."""
        now = time.time()
        header = b'{"t":"error","id":"%b","n":%d,"error":%b,"seconds":%.6f%b,"time":%.6f}' % (
            id.encode(), n, to_json(error).encode(), seconds, _gpu(gpu), now)
        with self._lock:
            entry = self._history.entries.get(id)
            if entry is not None:
                end_with(self._history, self._writer, entry, n, error, header, now, seconds, gpu)
        return header

    def keep(self, id: str, n: int, body: bytes) -> None:
        """Replaces the body of an event that is kept in memory by a copy that nobody changes."""
        with self._lock:
            entry = self._history.entries.get(id)
            for place in (entry.events or ()) if entry is not None else ():
                if entry is not None and place[0] == n and place[2] == 0:
                    self._history.replace(entry, n, (*place[:4], body, len(body)))
                    return

    def lose(self, id: str, n: int) -> None:
        """The body of an event that is kept in memory is not there after all."""
        with self._lock:
            entry = self._history.entries.get(id)
            for place in (entry.events or ()) if entry is not None else ():
                if entry is not None and place[0] == n:
                    self._history.replace(entry, n, (n, place[1], GONE, b"", 0, place[5]))
                    return

    # --- afterwards

    def events(self, id: str, first: int = 1) -> Iterator[Event]:
        """The events from number first on, in order, read one by one."""
        with self._lock:
            entry = self._history.entries.get(id)
            places = [p for p in entry.events or () if p[0] >= first] if entry is not None else []
        for place in places:
            yield self._read(place)

    def acked(self, id: str) -> None:
        """The answer has arrived: it need not be kept. Unknown names and running calls are ignored.

        Goes to the file with what is written next; should the worker die before, the answer is kept a while longer.
        """
        with self._lock:
            entry = self._history.entries.get(id)
            if entry is None or not entry.answered:
                return
            now = time.time()
            self._writer.later(b'{"t":"acked","id":"%b","time":%.6f}' % (id.encode(), now))
            self._history.acked(entry, now)

    def calls(self, token: Optional[str] = None, most: Optional[int] = None) -> List[Entry]:
        """What is remembered, oldest first; of one token, or of all; of many the newest."""
        with self._lock:
            newest = (e for e in reversed(self._history.entries.values()) if token is None or e.token == token)
            return list(islice(newest, most))[::-1]

    def drained(self, segment: int) -> None:
        """The recorder has all up to and with that segment."""
        with self._lock:
            self._writer.drained(segment)

    def alive(self) -> None:
        """For now and then while calls run whose time is counted: until then they have run, should the worker die."""
        with self._lock:
            if self._writer.store is not None:
                self._writer.store.touch()

    def renew(self) -> None:
        """Forgets all calls: they were another sandbox's. What runs is known no more either."""
        with self._lock:
            self.again = []
            self._history.renew(time.time())
            self._writer.rotate()
            if self._writer.store is not None:
                self._writer.drained(self._writer.store.current - 1)

    def sweep(self) -> None:
        """Forgets what is old. The journal does it by itself while calls come; an idle worker may do it once a minute."""
        with self._lock:
            if self._predecessor is not None and self._predecessor.waits:
                self.again += self._predecessor.read_on(self.leaving)
            self._history.sweep(time.time())
            self._writer.flush()

    def close(self) -> None:
        """Nothing is written any more."""
        with self._lock:
            self._writer.flush()
            if self._writer.store is not None:
                self._writer.store.close()

    # --- inside

    def _about(self) -> Dict[str, Any]:
        models = [{k: m[k] for k in ("name", "revision") if m.get(k) and not (k == "name" and m.get("hidden"))} for m in self._models]
        datasets = [{k: d[k] for k in ("name", "revision") if d.get(k)} for d in self._datasets]
        return {"generation": self._generation, "code_hash": self.code_hash, "models": models, "datasets": datasets,
                "use": dict(self.use())}

    def _release(self, number: int) -> None:
        self._writer.release(number)

    def _name(self, fn: str, token: str, client: Optional[str]) -> bytes:
        key = fn, token, client or ""
        text = self._names.get(key)
        if text is None:
            if len(self._names) > 1000:
                self._names.clear()
            text = b',"fn":%b,"token":%b,"client":%b' % tuple(to_json(v).encode() for v in key)
            self._names[key] = text
        return text

    def _event(self, id: str, n: int, kind: str, header: bytes, body: Body) -> bytes:
        with self._lock:
            entry = self._history.entries.get(id)
            if entry is not None:
                self._history.event(entry, self._writer.place(n, kind, header, body))
        return header

    def _read(self, place: Place) -> Event:
        n, kind, segment, at, length, size = place
        if segment == 0:
            return Event(n, kind, at, length, not self.whole(length))
        try:
            with self._lock:
                if segment == GONE or self._writer.store is None:
                    return Event(n, kind, b"", b"", True)
                data = self._writer.store.read(segment, at, length + size)
        except (OSError, ValueError):
            return Event(n, kind, b"", b"", True)
        return Event(n, kind, bytes(data[:length]), data[length:], False)


def _gpu(use: GPUUse) -> bytes:
    """The fields of a header for what a call has used of GPUs; none if it has used nothing."""
    return b',"gpu_bytes":%d,"gpu_seconds":%.6f' % use if use.bytes else b""


_TAGGED = {False: b"", True: b',"tagged":true'}


def _let_go(journal: Optional[Journal]) -> None:
    """In a child process: what it does is not a part of the journal."""
    if journal is not None:
        journal._lock = threading.Lock()
        if journal._writer.store is not None:
            journal._writer.store.close()
        journal._writer.store = None
