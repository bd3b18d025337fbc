"""The files of a journal: frames that are appended to segments, and read again. docs/protocol.md, section 7."""

import fcntl
import os
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple, Union

from .scan import PREFIX, Record, read, scan

Body = Union[bytes, bytearray, memoryview, Sequence[Any]]  # or buffers that are written one after the other

SEGMENT_SIZE = 64 << 20
_MAX_BUFFERS = 1024  # of one writev


class Segments:
    """The folder of a journal. Not thread-safe: the journal has the lock.

    Others may have segments of their own there: the worker that is being replaced, until its last call has ended.
    Whoever writes holds a lock on its last segment, which ends with the process.
    """

    def __init__(self, folder: str, size: int = SEGMENT_SIZE) -> None:
        self.folder, self._limit = folder, size
        self.sizes: Dict[int, int] = {n: _size(self.path(n)) for n in self.list()}
        self.needs: Dict[int, int] = {}  # how much of a segment may still be asked for
        self.current = 0
        self._fd = -1
        self._closed = False
        self.waiting = b""  # frames that are written along with the next one
        self._end = 0
        self._start = 0  # what stands behind it may be made room for

    def list(self) -> List[int]:
        found = [int(n[:-4]) for n in os.listdir(self.folder) if n.endswith(".seg") and n[:-4].isdigit()]
        return sorted(n for n in found if n > 0 and self.path(n).endswith("/%08d.seg" % n))

    def path(self, number: int) -> str:
        return os.path.join(self.folder, "%08d.seg" % number)

    # --- writing

    def begin(self, headers: Callable[[int], List[bytes]]) -> None:
        """Goes on in a new segment, that begins with these records. OSError: it goes on in the old one."""
        if self._closed:
            raise OSError(9, "it is closed")
        number = max([self.current, *self.list()]) + 1
        while True:
            try:
                fd = os.open(self.path(number), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                break
            except FileExistsError:
                number += 1
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = b"".join(frame(h) for h in headers(number))
            if os.write(fd, data) != len(data):
                raise OSError(28, "No space left on device", self.path(number))
        except OSError:
            os.close(fd)
            os.unlink(self.path(number))
            raise
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._start, self._end = fd, len(data), len(data)
        self.current, self.sizes[number] = number, len(data)

    def room(self, size: int) -> bool:
        """Whether a frame of the size belongs into this segment."""
        end = self._end + size
        return self._fd >= 0 and (end <= self._limit or end <= 4 * self._start or self._end == self._start)

    def write(self, header: bytes, body: bytes = b"", full: bool = False) -> int:
        """Appends a frame with one write; returns where its header is. OSError: nothing has been written; 0: there is no room for it,
        unless it may be written into a segment that is full."""
        data = PREFIX.pack(len(header), len(body)) + header + body
        if not full and not self.room(len(data)):
            return 0
        at = self._end + 12
        if self.waiting:
            at += len(self.waiting)
            data = self.waiting + data
            self.waiting = b""
        size = len(data)
        try:
            if os.write(self._fd, data) != size:
                raise OSError(28, "No space left on device")
        except OSError:
            self.waiting = data[:at - 12 - self._end]
            self._mend()
            raise
        self._end += size
        return at

    def touch(self) -> None:
        """The time of the segment says that its writer was alive."""
        try:
            if self._fd >= 0:
                os.utime(self._fd)
        except OSError:
            pass

    def touched(self) -> float:
        """When the newest segment was written or touched last."""
        return max((os.stat(self.path(n)).st_mtime for n in self.list()[-1:]), default=0.0)

    def flush(self) -> None:
        """Writes what waits. OSError: nothing has been written."""
        try:
            if self.waiting and os.write(self._fd, self.waiting) != len(self.waiting):
                raise OSError(28, "No space left on device")
        except OSError:
            self._mend()
            raise
        self._end += len(self.waiting)
        self.waiting = b""

    def write_parts(self, header: bytes, parts: Sequence[Any], size: int) -> int:
        """The same for a body in parts, which are not copied."""
        at = self._end
        views = [memoryview(PREFIX.pack(len(header), size) + header)]
        views += [v for v in (memoryview(p).cast("B") for p in parts) if v.nbytes]
        try:
            while views:
                done = os.writev(self._fd, views[:_MAX_BUFFERS])
                if done == 0:
                    raise OSError(28, "No space left on device")
                views = _rest(views, done)
        except OSError:
            self._mend()
            raise
        self._end = at + 12 + len(header) + size
        return at + 12

    def _mend(self) -> None:
        """Takes back what a write that failed has left."""
        os.ftruncate(self._fd, self._end)
        os.lseek(self._fd, self._end, os.SEEK_SET)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._closed = -1, True

    # --- reading

    def read(self, number: int, at: int, size: int) -> Any:
        """Bytes of a segment; a view of the file where that are many. OSError, or ValueError where it is cut."""
        if number == self.current:
            return read(self._fd, at, size)
        fd = os.open(self.path(number), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return read(fd, at, size)
        finally:
            os.close(fd)

    def scan(self, number: int, at: int) -> Iterator[Record]:
        """The whole records of a segment from an offset on. What is cut or damaged ends it."""
        try:
            fd = os.open(self.path(number), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            yield from scan(fd, at)
        finally:
            os.close(fd)

    def alive(self, number: int) -> bool:
        """Whether another worker writes there."""
        if number == self.current:
            return False  # and it must not be opened: closing it would give up the own lock
        try:
            fd = os.open(self.path(number), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(fd)

    # --- what is still needed

    def need(self, number: int, more: int = 1) -> None:
        self.needs[number] = self.needs.get(number, 0) + more

    @property
    def written(self) -> int:
        """How far the present segment goes."""
        return self._end

    def delete(self, number: int) -> None:
        self.sizes.pop(number, None)
        self.needs.pop(number, None)
        try:
            os.unlink(self.path(number))
        except OSError:
            pass  # another worker was faster


def frame(header: bytes) -> bytes:
    """A record without a body."""
    return PREFIX.pack(len(header), 0) + header


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _rest(views: List[memoryview], done: int) -> List[memoryview]:
    for i, view in enumerate(views):
        if done < view.nbytes:
            return [view[done:], *views[i + 1:]]
        done -= view.nbytes
    return []


def parts_of(body: Body) -> Tuple[Sequence[Any], int]:
    """A body as buffers, and its size."""
    if isinstance(body, (bytes, bytearray)):
        return (body,), len(body)
    if isinstance(body, memoryview):
        return (body,), body.nbytes
    return body, sum(memoryview(p).nbytes for p in body)
