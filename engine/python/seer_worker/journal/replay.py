"""Takes the records of a journal's segments in again, when a worker begins or another one writes beside it."""

import time
from typing import Any, Dict, Iterator, List

from ..process.gpu_memory import GPUUse
from .entry import GONE, Again, Entry, state_of
from .history import History
from .scan import Record
from .segments import Segments

_EVENTS = ("output", "item", "result", "error")


class Replay:
    """Reads segments as far as they go, and goes on there when asked again."""

    def __init__(self, store: Segments, history: History) -> None:
        self._store, self._history = store, history
        self._read: Dict[int, int] = {}  # how far each segment has been read
        self._arguments: Dict[str, tuple[int, Record]] = {}
        self._last = 0.0  # time of the last record
        self._count = self._begun = False
        self.fresh: List[Entry] = []  # what more has found
        self.others: List[int] = []  # segments that another worker writes

    def all(self) -> None:
        """Everything that is there; called once."""
        self._count = True
        found: List[int] = []
        while found != self._store.list():  # the other one may have gone on in a new segment meanwhile
            found = self._store.list()
            for number in found:
                self._one(number)
            self.others = [n for n in found if self._store.alive(n)]
        if self._read and not self._begun:  # nothing says what came before
            self._history.reach = time.time()
        self._count = False
        self.fresh = []

    def more(self, own: int) -> bool:
        """What the other worker has written since; True once it has gone."""
        gone: List[int] = []
        if not self.others:
            return True
        looked = False
        while True:
            known = len(self.others)
            for number in self._store.list():
                if number not in (own, *self.others) and number > min(self.others) and self._store.alive(number):
                    self.others.append(number)
            gone = [n for n in self.others if n == own or not self._store.alive(n)]  # asked first, read afterwards: nothing is lost
            if looked and known == len(self.others) or len(gone) < len(self.others):
                break
            looked = True  # it may have gone on in a new segment between the two
        for number in sorted(self.others):
            if number != own:
                self._one(number)
        self.others = [n for n in self.others if n not in gone]
        return not self.others

    def again(self) -> Iterator[Again]:
        """Detached calls that are queued and that nobody has."""
        for id, (number, record) in self._arguments.items():
            entry, header = self._history.entries.get(id), record.header
            if entry is None or entry.state != "queued" or not entry.arguments:
                continue
            try:
                body = bytes(self._store.read(number, record.at + record.length, record.size))
            except (OSError, ValueError):
                continue
            yield Again(id, entry.fn, entry.token, entry.client, entry.queued, header, body)

    def unended(self) -> List[Entry]:
        return [e for e in self._history.entries.values() if e.state == "running"]

    def count_unended(self) -> None:
        """Calls that were running when their worker died have used their tokens until then."""
        until = max(self._last, self._store.touched())
        for entry in self.unended():
            if entry.started and entry.token:
                self._history.count(entry.token, entry.started, seconds=max(0.0, until - entry.started))

    def _one(self, number: int) -> None:
        self._store.sizes.setdefault(number, 0)
        for record in self._store.scan(number, self._read.get(number, 0)):
            self._read[number] = record.end
            self._store.sizes[number] = max(self._store.sizes[number], record.end)
            try:
                self._take(number, record)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # a record of another kind of worker: what it says cannot be used
        self._read.setdefault(number, 0)

    def _take(self, number: int, record: Record) -> None:
        header, history = record.header, self._history
        kind, now = header["t"], float(header.get("time") or 0.0)
        self._last = max(self._last, now)
        if kind == "begin":
            self._begin(header, now)
        elif kind == "refused" and self._count:
            history.count(str(header["token"]), now, refused=1)
        elif kind == "queued":
            self._queued(number, record, now)
        elif kind == "started":
            known = history.entries.get(header["id"])
            if known is None or known.state in ("queued", "running"):
                names = (_text(header["id"]), _text(header["fn"]), _text(header["token"]), _text(header.get("client", "")))
                entry = history.started(*names, now)
                entry.fn, entry.token, entry.client = names[1:]  # of one that was only known to wait
                if known is None:
                    self.fresh.append(entry)
                if self._count:
                    history.count(entry.token, now, calls=1)
        elif kind == "acked":
            history.acked(history.entries[header["id"]], now)
        elif kind in _EVENTS:
            self._event(number, record, now)

    def _begin(self, header: Dict[str, Any], now: float) -> None:
        history, self._begun = self._history, True
        if type(header.get("use")) is dict and self._count:
            history.use = {str(k): dict(v) for k, v in header["use"].items()}
        history.reach = max(history.reach, float(header.get("reach") or 0.0))
        for id, state, *rest in header.get("known") or ():
            begun, acked = (float(rest[0]), rest[1] == 1) if len(rest) >= 2 else (now, False)
            token = _text(rest[2]) if len(rest) >= 3 else ""
            fresh = id not in history.entries
            if state != "queued":
                history.known(_text(id), _text(state), token, begun, acked, now)
            elif fresh:
                history.queued(_text(id), "", token, "", begun, False)
            if fresh and id in history.entries:
                self.fresh.append(history.entries[id])

    def _queued(self, number: int, record: Record, now: float) -> None:
        header = record.header
        detached, known = header.get("detach") is True, self._history.entries.get(header["id"])
        if known is not None and not (detached and known.state == "queued" and not known.detached):
            return
        entry = self._history.queued(_text(header["id"]), _text(header["fn"]), _text(header["token"]), _text(header.get("client", "")),
                                     now, detached)
        self.fresh.append(entry)
        if detached:
            entry.arguments = number
            self._store.need(number)
            self._arguments[entry.id] = number, record

    def _event(self, number: int, record: Record, now: float) -> None:
        header, history = record.header, self._history
        entry = history.entries[header["id"]]
        last = header["t"] in ("result", "error")
        if entry.acked or entry.answered and not (last and entry.state == "interrupted"):
            return
        if entry.answered:
            history.reopen(entry)
        n, kind = int(header.get("n") or 1), header["t"]
        error = dict(header["error"]) if kind == "error" else None
        seconds = float(header.get("seconds") or 0.0)
        gpu = GPUUse(int(header.get("gpu_bytes") or 0), float(header.get("gpu_seconds") or 0.0))
        self._store.need(number)
        history.event(entry, (n, kind, GONE if header.get("missing") is True else number, record.at, record.length, record.size))
        if last:
            entry.error = None if error is None else {"code": error.get("code"), "message": error.get("message", "")}
            history.ended(entry, "done" if error is None else state_of(error), now, seconds, gpu)
            if self._count and entry.started and entry.token:
                history.count(entry.token, now, seconds=entry.seconds)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return value
