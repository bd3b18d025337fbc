"""The events of an execution: numbered from 1, kept up to a size, waited for."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

LIMIT = 32 << 20  # bytes of one execution's events
PIECE = 256 << 10  # characters of text in one event


class Budget:
    """What all executions together may keep; the events of the oldest ones that have ended go first."""

    def __init__(self, limit: int = 256 << 20) -> None:
        self.limit, self.used = limit, 0
        self._ended: Deque[Log] = deque()

    def ended(self, log: Log) -> None:
        self._ended.append(log)
        self.trim()

    def trim(self) -> None:
        while self.used > self.limit and self._ended:
            self._ended.popleft().forget()


class Log:
    """Adds events, drops the oldest beyond the limit and says so to whoever asks for them."""

    def __init__(self, budget: Budget, where: str, limit: int = LIMIT) -> None:
        self.count = 0  # number of the last event
        self._budget, self._limit, self._where = budget, limit, where
        self._events: Deque[Tuple[int, Dict[str, Any]]] = deque()
        self._size = 0
        self._more = asyncio.Event()
        self.closed = False
        self.tell: Optional[Callable[[str, int, Dict[str, Any]], None]] = None  # hears of every event but the last

    def add(self, kind: str, size: int = 0, **fields: Any) -> None:
        """size is about what the event takes in memory, in bytes."""
        if self.closed:
            return
        if self.tell is not None and kind != "end":
            self.tell(kind, size, fields)
        self.count += 1
        self._events.append((size + 200, {"n": self.count, "t": kind, **fields}))
        self._grow(size + 200)
        while self._size > self._limit and len(self._events) > 1:
            self._drop()
        if self._budget.used > self._budget.limit:
            self._budget.trim()
        self._more.set()

    def close(self, **fields: Any) -> None:
        self.add("end", **fields)
        self.closed = True
        self._budget.ended(self)

    def since(self, n: int) -> List[Dict[str, Any]]:
        """The events from number n on; where some are gone, a note in the place of the last of them."""
        n = max(n, 1)
        if n > self.count:
            return []
        first = self.count + 1 - len(self._events)
        found = [e for _, e in self._events if e["n"] >= n]
        if n < first:
            found.insert(0, {"n": first - 1, "t": "note", "text": "events %d to %d are no longer kept: %s" % (n, first - 1, self._where)})
        return found

    async def wait(self, n: int, seconds: float) -> bool:
        """Whether there is an event with number n or above, in that time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.count < n:
            left = end - loop.time()
            if left <= 0:
                return False
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), left)
            except asyncio.TimeoutError:
                pass
        return True

    def forget(self) -> None:
        """All but the last."""
        while len(self._events) > 1:
            self._drop()

    def _drop(self) -> None:
        self._grow(-self._events.popleft()[0])

    def _grow(self, by: int) -> None:
        self._size += by
        self._budget.used += by
