"""The page that worker and runtime share: three u64 that say whether the service is in use."""

import mmap
import time

SIZE = 64


class UsagePage:
    """Calls begun, calls ended, nanoseconds of the last of these. Written by one thread at a time."""

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, SIZE)
        self._words = memoryview(self._map).cast("Q")  # aligned stores; every supported machine is little-endian
        self._words[0] = self._words[1] = 0
        self._words[2] = time.time_ns()

    def begin(self) -> None:
        """A call has come, be it to run or to wait."""
        self._words[2] = time.time_ns()
        self._words[0] += 1

    def end(self) -> None:
        """It has its answer."""
        self._words[2] = time.time_ns()
        self._words[1] += 1
