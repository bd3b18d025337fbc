"""How many bytes of large arguments each token may have in the worker's memory, where its clients send them directly."""

import os
import threading
from typing import Any, Dict, List

from ..values.body import BodyReader, Buffer

_MOST = 1 << 30  # of a token other than main; through the runtime, the runtime says the same
_SCRATCH = 1 << 20


class Intake:
    """Thread-safe."""

    def __init__(self, most: int = 0) -> None:
        self._most = most or min(_MOST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)
        self._held: Dict[str, int] = {}
        self._lock = threading.RLock()  # what is freed may be freed while it is held

    def reader(self, token: str, size: int) -> BodyReader:
        """Takes a body in, or passes it over: then its call is told so."""
        with self._lock:
            if self._held.get(token, 0) + size > self._most:
                return Passed(size, "they have %d MiB; those of one token may have %d MiB at once" % (-(-size >> 20), self._most >> 20))
            self._held[token] = self._held.get(token, 0) + size
        return Counted(self, token, size)

    def free(self, token: str, size: int) -> None:
        with self._lock:
            self._held[token] -= size
            if not self._held[token]:
                del self._held[token]


class Counted(BodyReader):
    """A body that counts until nobody has it any more."""

    def __init__(self, intake: Intake, token: str, size: int) -> None:
        self._intake, self._token, self._bytes = intake, token, size
        super().__init__(size)

    def __del__(self) -> None:
        self._intake.free(self._token, self._bytes)


class Passed(BodyReader):
    """Lets bytes go as they come."""

    def __init__(self, size: int, why: str) -> None:
        super().__init__(1)
        self._size, self._to_come, self._why = 0, size, why
        self._scratch = memoryview(bytearray(min(size, _SCRATCH)))

    @property
    def done(self) -> bool:
        return not self._to_come

    def room(self) -> memoryview:
        return self._scratch[:min(self._to_come, len(self._scratch))]

    def advance(self, n: int) -> None:
        self._to_come -= n

    def feed(self, data: Buffer) -> int:
        n = min(self._to_come, len(memoryview(data)))
        self._to_come -= n
        return n

    def parts(self) -> List[Any]:
        raise ValueError(self._why)
