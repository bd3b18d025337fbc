"""Appends to a journal, goes on in a new segment when one is full, and deletes those in which nothing is needed."""

import json
import os
import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from .entry import Place
from .history import History
from .recording import Recording
from .segments import Body, Segments, frame, parts_of

LARGEST = 16 << 20  # a larger result is kept in memory only, but for a record
UNDRAINED = 4 << 30
_JOINED = 256 << 10  # a larger body is not copied to be written with its header
_WAITING = 4 << 10
_SPARE = 256 << 20  # bytes of the disk that large arguments leave free: the calls of others have to be written, too
_NAMES = 5000  # in one record: a header has at most 1 MiB

to_json = json.JSONEncoder(separators=(",", ":")).encode


class JournalFull(Exception):
    """Nothing can be written now; the call must not run (`busy`). Its text says why and what to do."""


class Writer:
    """Not thread-safe: the journal has the lock. store None = nothing is written, all is kept in memory."""

    def __init__(self, store: Optional[Segments], history: History, about: Callable[[], Mapping[str, Any]], record: "bool | Recording",
                 undrained: int) -> None:
        """about gives what the first record of a segment says besides the calls."""
        self.store, self._history, self._about, self._record, self._undrained = store, history, about, record, undrained
        self.others: Sequence[int] = ()  # segments of another worker
        self._drained = self._closed = 0

    def must(self, header: bytes, body: Body) -> int:
        """Writes what has to be written before a call may go on; returns the segment, 0 without any."""
        store = self.store
        if store is None:
            return 0
        if self._closed + store.written > self._undrained and self._record:
            raise JournalFull("the record of calls is %d MiB behind, for nobody takes it; the call did not run, send it again later"
                              % (self._undrained >> 20))
        size = len(body) if type(body) is bytes else parts_of(body)[1]
        if size >= _JOINED and _crowded(store.folder, size):
            raise JournalFull("the %d MiB of arguments would fill the disk on which the journal of calls is, in %s; the call did not run: "
                              "make room and send it again" % (size >> 20, store.folder))
        try:
            return self._append(store, header, body)[0]
        except OSError as e:
            raise JournalFull("the journal of calls in %s cannot be written (%s); the call did not run: make room on the disk "
                              "and send it again" % (store.folder, e.strerror)) from None

    def write(self, header: bytes, body: Body = b"") -> Optional[Tuple[int, int]]:
        """The same for what may be lost; returns the segment and where the header is."""
        try:
            return self._append(self.store, header, body) if self.store is not None else None
        except OSError:
            return None

    def place(self, n: int, kind: str, header: bytes, body: Body) -> Place:
        """Writes an event, or says that it is in memory."""
        size = len(body) if type(body) is bytes else parts_of(body)[1]
        if size > LARGEST and kind == "result" and not self._record:
            self.write(header[:-1] + b',"missing":true}')
            return n, kind, 0, header, body, size
        written = self.write(header, body)
        if written is None or self.store is None:
            return n, kind, 0, header, body, size
        self.store.need(written[0])
        return n, kind, written[0], written[1], len(header), size

    def later(self, header: bytes) -> None:
        """Writes a record along with the next one: it may be lost."""
        store = self.store
        if store is not None:
            store.waiting += frame(header)
            if len(store.waiting) > _WAITING:
                self.flush()

    def flush(self) -> None:
        """Writes what waits."""
        store = self.store
        if store is not None and store.waiting:
            try:
                store.flush()
            except OSError:
                store.waiting = b""  # an answer is kept a while longer

    def _append(self, store: Segments, header: bytes, body: Body) -> Tuple[int, int]:
        if type(body) is bytes and len(body) < _JOINED:
            at = store.write(header, body)
            if not at:
                self.rotate()
                at = store.write(header, body, True)
            return store.current, at
        parts, size = parts_of(body)
        if not store.room(12 + len(header) + size):
            self.rotate()
        return store.current, store.write_parts(header, parts, size)

    # --- segments

    def rotate(self) -> bool:
        """Goes on in a new segment; where that is impossible, in the old one, if there is one."""
        store = self.store
        if store is None:
            return False
        self.flush()
        old, size = store.current, store.written
        try:
            store.begin(self._first)
        except OSError:
            return False
        if old:
            store.sizes[old] = size
        self.clean()
        return True

    def release_others(self, others: Sequence[int]) -> None:
        """These are still another worker's. What the rest say goes into a segment of the own first, for they may then be deleted."""
        if set(self.others) <= set(others) or self.rotate():
            self.others = others
            self.clean()

    def clean(self) -> None:
        """Deletes what is not needed any more."""
        store = self.store
        if store is None:
            return
        for number in list(store.sizes):
            self._delete_unneeded(number)
        self._closed = sum(size for number, size in store.sizes.items() if number > self._drained and number != store.current)

    def drained(self, segment: int) -> None:
        self._drained = max(self._drained, segment)
        self.clean()

    def release(self, number: int) -> None:
        """One thing less is needed of a segment."""
        store = self.store
        if store is not None and number in store.needs:
            store.needs[number] -= 1
            if not store.needs[number]:
                self._delete_unneeded(number)

    def _delete_unneeded(self, number: int) -> None:
        store = self.store
        if store is None or number == store.current or store.needs.get(number) or self._record and number > self._drained:
            return
        if store.current and number not in self.others:  # before the first own one, nothing says what the others said
            store.delete(number)

    def _first(self, number: int) -> "list[bytes]":
        """The first records of a segment: what must be known of earlier ones."""
        entries = self._history.entries.values()
        names = [[e.id, e.state, round(e.begun(), 3), int(e.acked), e.token] for e in entries]
        now = round(time.time(), 6)
        first: Dict[str, Any] = {"t": "begin", "segment": number, "time": now, **self._about(), "reach": self._history.reach}
        records = [to_json({**first, "known": names[:_NAMES]}).encode()]
        for at in range(_NAMES, len(names), _NAMES):
            records.append(to_json({"t": "begin", "segment": number, "time": now, "known": names[at:at + _NAMES]}).encode())
        return records


def _crowded(folder: Any, size: int) -> bool:
    """Whether so many bytes take what is to stay free; of a small disk, a twentieth."""
    disk = os.statvfs(str(folder))
    return disk.f_bavail * disk.f_frsize < size + min(_SPARE, disk.f_blocks * disk.f_frsize // 20)
