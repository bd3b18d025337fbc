"""Reads the records of a segment of a journal, however the file was left."""

import mmap
import os
import struct
from typing import Any, Dict, Iterator, NamedTuple, Optional

from ..transport.frames import MAX_HEADER, load_json

PREFIX = struct.Struct("<IQ")
_MAX_BODY = 64 << 30
_READ = 256 << 10
_MAPPED = 1 << 20  # a larger body is not copied


class Record(NamedTuple):
    """A frame of a segment; the body follows the header, size bytes."""

    header: Dict[str, Any]
    at: int  # of the header's first byte
    length: int  # of the header
    size: int

    @property
    def end(self) -> int:
        return self.at + self.length + self.size


def read(fd: int, at: int, size: int) -> Any:
    """Bytes of the file; a view of it where that are many. ValueError where it is cut."""
    if size > _MAPPED:
        start = at - at % mmap.ALLOCATIONGRANULARITY
        return memoryview(mmap.mmap(fd, at - start + size, mmap.MAP_SHARED, mmap.PROT_READ, offset=start))[at - start:]
    data = os.pread(fd, size, at)
    if len(data) != size:
        raise ValueError("the journal is cut")
    return data


def scan(fd: int, at: int) -> Iterator[Record]:
    """The whole records from an offset on. What is cut or damaged ends them."""
    end = os.fstat(fd).st_size
    window, start = b"", at
    while at + 12 <= end:
        if not start <= at <= start + len(window) - 12:
            window, start = os.pread(fd, _READ, at), at
        length, size = PREFIX.unpack_from(window, at - start) if len(window) - (at - start) >= 12 else (0, 0)
        record = _record(fd, window, start, at, length, size) if length <= MAX_HEADER and size <= _MAX_BODY else None
        if record is None or record.end > end:
            return
        yield record
        at = record.end


def _record(fd: int, window: bytes, start: int, at: int, length: int, size: int) -> Optional[Record]:
    offset = at - start + 12
    data = window[offset:offset + length]
    if len(data) < length:
        data = os.pread(fd, length, at + 12)
    try:
        header = load_json(data)
    except ValueError:
        return None
    if type(header) is not dict or type(header.get("t")) is not str:
        return None
    return Record(header, at + 12, length, size)
