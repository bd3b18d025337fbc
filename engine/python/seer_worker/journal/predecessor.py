"""What the workers before this one have left in the journal: calls that they did not end, and calls that one of them still runs."""

import os
import time
from typing import Any, Dict, List, Mapping, Sequence

from ..process.gpu_memory import NOTHING, GPUUse
from .entry import Again, Entry, state_of
from .history import History
from .replay import Replay
from .segments import Segments
from .writer import Writer, to_json


class Predecessor:
    """Not thread-safe: the journal has the lock."""

    def __init__(self, store: Segments, history: History, writer: Writer, died: str = "") -> None:
        """Reads everything and begins a segment. died: how the worker before ended; what is done about it."""
        self._died = died.partition("; ")
        self._history, self._writer, self._store = history, writer, store
        # No call can have been sent before the service had its folder.
        history.reach = 0.0 if store.sizes else os.stat(store.folder).st_mtime
        self._replay = Replay(store, history)
        self._replay.all()
        writer.others = self._replay.others
        self.waits = bool(writer.others)  # for the worker before to end its calls
        self.again: List[Again] = []
        orphans: List[Entry] = []
        self._theirs: List[Entry] = []  # open calls of other workers
        self._lost: List[Entry] = []  # promised, but their arguments are gone
        if self.waits:
            self._replay.fresh = self._open()
            self._note()
        else:
            self._replay.count_unended()
            self.again, orphans = list(self._replay.again()), self._replay.unended()
            self._drop()
        self.read_use: Dict[str, Dict[str, Any]] = history.use
        writer.rotate()
        self._end(orphans + self._lost)
        history.sweep(time.time())

    def read_on(self, leaving: bool = False) -> List[Again]:
        """What the worker before has written since. Once it has gone, its running calls are interrupted; what is given back is to be
        queued again. leaving: what waited is for the next worker to take."""
        gone = self._replay.more(self._store.current)
        self._note()
        self._writer.release_others(self._replay.others)
        if not gone:
            return []
        again = list(self._replay.again())
        kept = {a.id for a in again}
        self._end([e for e in self._theirs if e.id not in kept])
        self._note()
        if leaving and again:
            return []
        self.waits = False
        return again

    def _note(self) -> None:
        """Which calls are the other worker's."""
        fresh, self._replay.fresh = self._replay.fresh, []
        theirs = {e.id: e for e in [*self._theirs, *fresh] if e.state in ("running", "queued")}
        self._theirs = list(theirs.values())
        for entry in self._theirs:
            entry.elsewhere = True

    def _drop(self) -> None:
        """A call that waited and is not queued again has not begun: its name may be used, unless it was promised that it runs."""
        kept = {a.id for a in self.again}
        for entry in [e for e in self._open() if e.state == "queued" and e.id not in kept]:
            if entry.detached:
                self._lost.append(entry)
            else:
                self._history.forget(entry.id)

    def _open(self) -> List[Entry]:
        return [e for e in self._history.entries.values() if e.state in ("running", "queued")]

    def _end(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            now, n = time.time(), (entry.events[-1][0] if entry.events else 0) + 1
            how, _, now_what = self._died
            message = "the worker of the service %s while %s ran; it may have had effects, and was not repeated" % (
                how or "ended", entry.fn or "the call")
            error = {"code": "interrupted", "message": message + ("; " + now_what if now_what else "")}
            header = b'{"t":"error","id":"%b","n":%d,"error":%b,"time":%.6f}' % (entry.id.encode(), n, to_json(error).encode(), now)
            end_with(self._history, self._writer, entry, n, error, header, now, 0.0)


def end_with(history: History, writer: Writer, entry: Entry, n: int, error: Mapping[str, Any], header: bytes, now: float,
             seconds: float, gpu: GPUUse = NOTHING) -> None:
    """Ends a call with an error."""
    history.event(entry, writer.place(n, "error", header, b""))
    entry.error = {"code": error.get("code"), "message": error.get("message", "")}
    history.ended(entry, state_of(error), now, seconds, gpu)
