"""The answers that a journal still has, of each token on its own: nobody's calls push out what others have not fetched."""

from collections import OrderedDict
from typing import Dict, Optional

from .entry import Entry


class Answers:
    """Not thread-safe. Every answer was added as it ended."""

    def __init__(self) -> None:
        self.bytes = 0
        self._of: Dict[str, OrderedDict[str, Entry]] = {}
        self._bytes: Dict[str, int] = {}
        self._count = 0
        self._newest: Optional[Entry] = None

    def __len__(self) -> int:
        return self._count

    def add(self, entry: Entry) -> None:
        self._of.setdefault(entry.token, OrderedDict())[entry.id] = entry
        self._bytes[entry.token] = self._bytes.get(entry.token, 0) + entry.bytes
        self.bytes += entry.bytes
        self._count += 1
        self._newest = entry

    def remove(self, entry: Entry) -> bool:
        """Whether it was there."""
        own = self._of.get(entry.token)
        if own is None or own.pop(entry.id, None) is None:
            return False
        self._bytes[entry.token] -= entry.bytes
        self.bytes -= entry.bytes
        self._count -= 1
        if not own:
            del self._of[entry.token], self._bytes[entry.token]
        if self._newest is entry:
            self._newest = None
        return True

    def excess(self, calls: int, size: int) -> Optional[Entry]:
        """The answer that has to go next, so that there are at most so many calls and bytes; None if nothing has to."""
        if self._count > calls:
            return self._first({token: len(own) for token, own in self._of.items()})
        newest = self._newest.bytes if self._newest is not None and self._newest.bytes > size else 0  # it pushes nothing out
        return self._first(self._bytes) if self.bytes - newest > size and self._count > 1 else None

    def oldest(self) -> Optional[Entry]:
        firsts = (next(iter(own.values())) for own in self._of.values())
        return min(firsts, key=lambda entry: entry.ended, default=None)

    def _first(self, weights: Dict[str, int]) -> Optional[Entry]:
        """The oldest answer of the token that has most; never the newest of all."""
        for token in sorted(weights, key=lambda token: -weights[token]):
            entry = next(iter(self._of[token].values()))
            if entry is not self._newest or self._count == 1:
                return entry
        return None
