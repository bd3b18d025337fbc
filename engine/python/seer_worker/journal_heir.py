"""What the workers before this one have left in the journal: calls that they did not end, and calls that one of them still runs."""

import os
import time
from typing import Any, Dict, List, Mapping, Sequence

from .journal_entry import Again, Entry, state_of
from .journal_history import History
from .journal_replay import Replay
from .journal_segments import Segments
from .journal_writer import Writer, to_json


class Heir:
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
        if self.waits:
            for entry in self._open():
                entry.elsewhere = True
        else:
            self._replay.count_unended()
            self.again, orphans = list(self._replay.again()), self._replay.unended()
        self.read_use: Dict[str, Dict[str, Any]] = history.use
        writer.rotate()
        self._end(orphans)
        history.sweep(time.time())

    def read_on(self) -> None:
        """What the worker before has written since. Once it has gone, its running calls are interrupted."""
        before = len(self._history.entries)
        gone = self._replay.more(self._store.current)
        self._writer.others = self._replay.others
        theirs = [e for e in self._history.entries.values() if e.elsewhere] + list(self._history.entries.values())[before:]
        for entry in theirs:
            entry.elsewhere = entry.state in ("running", "queued") and not gone
        if gone:
            self.waits = False
            self._end([e for e in theirs if e.state in ("running", "queued")])

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
             seconds: float) -> None:
    """Ends a call with an error."""
    history.event(entry, writer.place(n, "error", header, b""))
    entry.error = {"code": error.get("code"), "message": error.get("message", "")}
    history.ended(entry, state_of(error), now, seconds)
