"""The whole text output of an execution: a little in memory, more in a private file."""

from __future__ import annotations

import os
from typing import BinaryIO, Optional

LIMIT = 1 << 30
_IN_MEMORY = 16 << 10


class Spool:
    """Bytes are added at the end and read anywhere. What does not fit is counted and left out: full says so."""

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        self.path = path
        self.kept = 0  # bytes that can be read
        self.size = 0  # bytes that came
        self.full = ""  # why something was left out
        self._limit = limit
        self._start = bytearray()
        self._file: Optional[BinaryIO] = None

    @property
    def in_file(self) -> bool:
        return self._file is not None

    def add(self, data: bytes) -> None:
        self.size += len(data)
        if self.full:
            return
        room = self._limit - self.kept
        if len(data) > room:
            data, self.full = data[:room], "more than %d bytes are not kept" % self._limit
        try:
            if self._file is None and self.kept + len(data) > _IN_MEMORY:
                self._open()
            if self._file is None:
                self._start += data
            else:
                self._file.write(data)
            self.kept += len(data)
        except OSError as e:
            self.full = "%s could not be written: %s" % (self.path, e.strerror)
            if self._file is not None:
                self.kept = min(self.kept, os.fstat(self._file.fileno()).st_size)

    def read(self, offset: int, limit: int) -> bytes:
        if self._file is None:
            return bytes(self._start[offset:offset + limit])
        return os.pread(self._file.fileno(), max(0, min(limit, self.kept - offset)), offset)

    def remove(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._start, self.kept = bytearray(), 0
            try:
                os.unlink(self.path)
            except OSError:
                pass

    def _open(self) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        self._file = os.fdopen(fd, "r+b", buffering=0)
        self._file.write(self._start)
        self._start = bytearray()
