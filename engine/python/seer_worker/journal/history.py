"""The calls that a journal remembers, and for how long."""

from collections import deque
from typing import Any, Callable, Deque, Dict, Mapping, Optional, Tuple

from ..process.gpu_memory import NOTHING, GPUUse
from .answers import Answers
from .entry import Entry, Place

KEEP_SECONDS, KEEP_CALLS, KEEP_BYTES = 600.0, 100_000, 1 << 30
_LATE = 5.0  # a repeat may be this much older than it says: it was on its way


class History:
    """Not thread-safe: the journal has the lock. release is told of every place that is not needed any more."""

    def __init__(self, limits: Mapping[str, Any], release: Callable[[int], None]) -> None:
        self.entries: Dict[str, Entry] = {}
        self.use: Dict[str, Dict[str, Any]] = {}  # what was read of it
        self.reach = 0.0  # calls first sent after this are known, if they have come
        self._release = release
        self._keep_seconds = limits.get("keep_seconds") or KEEP_SECONDS
        self._keep_calls = limits.get("keep_calls") or KEEP_CALLS
        self._keep_bytes = limits.get("keep_bytes") or KEEP_BYTES
        self._answers = Answers()
        self._names: Deque[Tuple[float, Entry]] = deque()  # without an answer, since when
        self._next_sweep = 0.0

    def queued(self, id: str, fn: str, token: str, client: str, now: float, detached: bool) -> Entry:
        entry = self.entries[id] = Entry(id, fn, token, client, "queued", now, 0.0)
        entry.detached = detached
        return entry

    def started(self, id: str, fn: str, token: str, client: str, now: float) -> Entry:
        entry = self.entries.get(id)
        if entry is None:
            entry = self.entries[id] = Entry(id, fn, token, client, "running", now, now)
            return entry
        entry.state, entry.started = "running", now
        self.drop_arguments(entry)
        return entry

    def event(self, entry: Entry, place: Place) -> None:
        if entry.events is None:
            entry.events = [place]
        else:
            entry.events.append(place)
        entry.bytes += place[5]

    def ended(self, entry: Entry, state: str, now: float, seconds: float, gpu: GPUUse = NOTHING) -> None:
        self.drop_arguments(entry)
        entry.finish(state, now, seconds)
        entry.gpu = gpu
        entry.answered = True
        self._answers.add(entry)
        if now >= self._next_sweep or self._answers.bytes > self._keep_bytes or len(self._answers) > self._keep_calls:
            self.sweep(now)

    def acked(self, entry: Entry, now: float) -> None:
        entry.acked = True
        if self._answers.remove(entry):
            self._forget_answer(entry, now)

    def known(self, id: str, state: str, token: str, begun: float, acked: bool, now: float) -> None:
        """A name of which segments that are gone have told more."""
        entry = self.entries.get(id)
        if entry is None:
            entry = self.entries[id] = Entry(id, "", token, "", "running", begun, begun)
        if entry.answered and acked:
            self.acked(entry, now)
        elif not entry.ended and state != "running":
            entry.state, entry.ended, entry.acked = state, begun, acked
            self.drop_arguments(entry)
            self._forget_answer(entry, now)

    def reopen(self, entry: Entry) -> None:
        """Of two ends the one that is an answer counts: the call was taken for interrupted, and was not."""
        self._answers.remove(entry)
        self._drop_last(entry)
        entry.state, entry.ended, entry.answered, entry.error = "running", 0.0, False, None

    def forget(self, id: str) -> None:
        """For a call that did not run."""
        entry = self.entries.pop(id, None)
        if entry is not None:
            self.drop_arguments(entry)

    def renew(self, now: float) -> None:
        """Nothing of what was is known any more. Whatever was first sent before may have run somewhere else."""
        for entry in self.entries.values():
            self.drop_arguments(entry)
            for place in entry.events or ():
                if place[2] > 0:
                    self._release(place[2])
        self.entries.clear()
        self._answers = Answers()
        self._names.clear()
        self.use.clear()
        self.reach = now

    def replace(self, entry: Entry, n: int, place: Place) -> None:
        events = entry.events or []
        for i, old in enumerate(events):
            if old[0] == n:
                events[i] = place

    def drop_arguments(self, entry: Entry) -> None:
        if entry.arguments:
            self._release(entry.arguments)
            entry.arguments = 0

    def sweep(self, now: float) -> None:
        """Forgets what is old, and the oldest of what is too much."""
        self._next_sweep = now + 1.0
        answers, old = self._answers, now - self._keep_seconds
        while True:
            entry = answers.excess(self._keep_calls, self._keep_bytes)
            if entry is None:
                entry = answers.oldest()
                if entry is None or entry.ended >= old:
                    break
            answers.remove(entry)
            self._forget_answer(entry, now)
        while self._names and (len(self._names) > self._keep_calls or self._names[0][0] < old):
            entry = self._names.popleft()[1]
            self.entries.pop(entry.id, None)
            if not entry.acked:  # who has acknowledged an answer does not ask again
                self.reach = max(self.reach, entry.begun() + _LATE)

    def _forget_answer(self, entry: Entry, now: float) -> None:
        for place in entry.events or ():
            if place[2] > 0:
                self._release(place[2])
        entry.events, entry.answered = None, False
        self._names.append((now, entry))
        if now >= self._next_sweep or len(self._names) > self._keep_calls:
            self.sweep(now)

    def _drop_last(self, entry: Entry) -> None:
        last = entry.events.pop() if entry.events else None
        if last is not None:
            entry.bytes -= last[5]
            if last[2] > 0:
                self._release(last[2])

    # --- what tokens have used, as far as the journal tells

    def count(self, token: str, now: float, calls: int = 0, seconds: float = 0.0, refused: int = 0) -> None:
        use: Optional[Dict[str, Any]] = self.use.get(token)
        if use is None:
            use = self.use[token] = {"calls": 0, "seconds": 0.0, "spend_usd": 0.0, "refused": 0}
        use["calls"] += calls
        use["seconds"] += seconds
        use["unpriced"] = use.get("unpriced", 0.0) + seconds  # for Limits, which knows the price
        use["refused"] += refused
        use["last_unix"] = max(now, use.get("last_unix", 0.0))
