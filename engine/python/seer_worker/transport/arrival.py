"""A buffer that is sent while it is still being filled."""

import threading
from typing import Iterator, Optional


class Arrival:
    """Memory that one thread fills from its beginning on, while others wait for as much of it as they need."""

    def __init__(self, memory: memoryview) -> None:
        self.memory = memory
        self._there = 0
        self._failure: Optional[BaseException] = None
        self._changed = threading.Condition()

    def fill(self, progress: Iterator[int]) -> None:
        """Runs progress, which fills the memory and yields how many bytes are there by now."""
        try:
            for there in progress:
                with self._changed:
                    self._there = there
                    self._changed.notify_all()
        except BaseException as e:  # wait reports it to other threads
            with self._changed:
                self._failure = e
                self._changed.notify_all()

    def wait(self, size: int) -> None:
        """Returns when the first size bytes are there. OSError: they will never be."""
        if self._there < size:
            with self._changed:
                self._changed.wait_for(lambda: self._there >= size or self._failure is not None)
            if self._there < size:
                raise OSError("a tensor could not be copied from its device: %s" % self._failure)

    @property
    def over(self) -> bool:
        """Nothing more comes."""
        return self._there == len(self.memory) or self._failure is not None

    def settle(self) -> bool:
        """Waits until nothing more comes; tells whether all of it has come."""
        try:
            self.wait(len(self.memory))
            return True
        except OSError:
            return False

    def wait_for(self, rest: memoryview, size: int) -> None:
        """The same for the first size bytes of rest, which is the end of this memory, or other memory that is there already."""
        if rest.obj is self.memory.obj:
            self.wait(len(self.memory) - len(rest) + size)
