"""The body of a frame: a value's JSON, with raw buffers behind it where there are any. docs/protocol.md, section 4.

    parts = value_parts(body)               parts[0] is the JSON; nothing is copied that is not compressed
    value = decode(parts, tagged)           decoding.py

A receiver that wants each buffer where it stays, without a second copy:

    reader = BodyReader(size)
    while not reader.done:
        reader.advance(sock.recv_into(reader.room()))
    value = decode(reader.parts(), tagged)

A sender: sock.sendmsg(encoded.body()); the system takes at most 1024 buffers at a time.
"""

import functools
import mmap
import os
import struct
import zlib
from typing import List, Optional, Sequence, Tuple, Union

from .types import loaded

Buffer = Union[bytes, bytearray, memoryview]

MAX_PARTS = 1 << 20
_MAX_VALUE = 64 << 30
_MAGIC = b"\x00SV1"
_START = struct.Struct("<4sI")
_ENTRY = struct.Struct("<BQQ")
_ONE_BUFFER = 64 << 10  # a smaller body is taken in as one
_HUGE_PAGES = 4 << 20
_WORTH_PACKING = 4 << 10
_SAMPLE = 8 << 10
_GOOD_RATIO = 0.8
_UNPACKED = 256 << 20  # bytes that compressed parts may always have when decoded: a few that arrive must not fill the memory
_BEST_ZLIB = 1032  # it cannot shrink anything further

_Entry = Tuple[int, int, int]


def pack_body(parts: Sequence[Buffer], deflate: bool = False) -> List[Buffer]:
    """The buffers that make a body, one after the other. Small neighbours are joined."""
    if len(parts) == 1 and not (deflate and len(parts[0]) >= _WORTH_PACKING):
        return [parts[0]]
    if len(parts) > MAX_PARTS:
        raise ValueError("a value has %d buffers, more than the %d allowed" % (len(parts), MAX_PARTS))
    packed = [_shrink(p) if deflate else (0, p) for p in parts]
    if len(parts) == 1 and not packed[0][0]:
        return [parts[0]]
    head = bytearray(_START.pack(_MAGIC, len(parts)))
    for (coding, data), part in zip(packed, parts):
        head += _ENTRY.pack(coding, len(data), len(part))
    out: List[Buffer] = [head]
    ours: Optional[bytearray] = head  # the last buffer, if it may grow
    for _, data in packed:
        if len(data) > _WORTH_PACKING:
            out.append(data)
            ours = None
        elif ours is None:
            ours = bytearray(data)
            out.append(ours)
        else:
            ours += data
    return out


def _shrink(part: Buffer) -> Tuple[int, Buffer]:
    """A part compressed, where a sample of it says that this pays."""
    size = len(part)
    if size < _WORTH_PACKING:
        return 0, part
    view = memoryview(part)
    if size > 4 * _SAMPLE:
        sample = b"".join(view[at:at + _SAMPLE] for at in (0, (size - _SAMPLE) // 2, size - _SAMPLE))
    else:
        sample = bytes(view)
    if len(zlib.compress(sample, 1)) > _GOOD_RATIO * len(sample):
        return 0, part
    data = zlib.compress(view, 1)
    return (1, data) if len(data) < size else (0, part)


def value_parts(body: Buffer, limit: int = _MAX_VALUE) -> List[Buffer]:
    """Takes a body apart; ValueError where it breaks the rules or is more than limit bytes when decoded."""
    view = memoryview(body)
    if bytes(view[:4]) != _MAGIC:
        return [body]
    entries = _entries(view[_START.size:], _count(view, len(view)), len(view), limit)
    at = _START.size + _ENTRY.size * len(entries)
    parts: List[Buffer] = []
    for entry in entries:
        parts.append(_decoded(view[at:at + entry[1]], entry))
        at += entry[1]
    return parts


def _count(head: Buffer, size: int) -> int:
    if len(head) < _START.size:
        raise ValueError("the body of a value ends too early")
    count = _START.unpack_from(head)[1]
    if not 1 <= count <= MAX_PARTS or _START.size + count * _ENTRY.size > size:
        raise ValueError("the body of a value has %d parts in %d bytes" % (count, size))
    return int(count)


def _entries(table: Buffer, count: int, size: int, limit: int) -> List[_Entry]:
    entries: List[_Entry] = [_ENTRY.unpack_from(table, i * _ENTRY.size) for i in range(count)]
    rest, total, packed = size - _START.size - count * _ENTRY.size, 0, 0
    for coding, stored, length in entries:
        if coding not in (0, 1) or coding == 0 and stored != length or coding == 1 and length > _BEST_ZLIB * (stored + 1):
            raise ValueError("a part of a value has the coding %d and the lengths %d and %d" % (coding, stored, length))
        rest -= stored
        total += length
        packed += length if coding else 0
    if rest:
        raise ValueError("the parts of a value do not fill its body")
    if packed > _UNPACKED and packed > _memory() // 4:
        raise ValueError("a value has %d bytes when it is decompressed, more than a quarter of the memory here; send it as it is" % packed)
    if total > limit:
        raise ValueError("a value of %d bytes is larger than the %d allowed" % (total, limit))
    return entries


@functools.lru_cache(maxsize=None)
def _memory() -> int:
    """Bytes of this machine; where it does not tell, there is no limit."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def _decoded(data: Buffer, entry: _Entry) -> Buffer:
    coding, _, length = entry
    if coding == 0:
        return data
    try:
        unpacker = zlib.decompressobj()
        out = unpacker.decompress(data, length + 1)
    except zlib.error as e:
        raise ValueError("a part of a value cannot be decompressed: %s" % e) from None
    if len(out) != length or not unpacker.eof or unpacker.unused_data:
        raise ValueError("a part of a value has not the length that was announced")
    return bytearray(out)


def reserve(size: int) -> memoryview:
    """Memory that is not touched, so that it costs nothing until something arrives."""
    try:
        empty = getattr(loaded("numpy"), "empty", None)
        if empty is not None:
            return memoryview(empty(size, "u1"))
        if size < _ONE_BUFFER:
            return memoryview(bytearray(size))
        memory = mmap.mmap(-1, size)
        if size >= _HUGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                pass  # a kernel without them
        return memoryview(memory)
    except (OSError, MemoryError, OverflowError):
        raise ValueError("there is no memory for a value of %d bytes" % size) from None


class BodyReader:
    """Takes a body in as it comes. Memory for what has not come yet is reserved but not used."""

    def __init__(self, size: int, limit: int = _MAX_VALUE) -> None:
        if size > limit:
            raise ValueError("a value of %d bytes is larger than the %d allowed" % (size, limit))
        self._size, self._limit = size, limit
        self._entries: Optional[List[_Entry]] = None
        self._count = 0
        self._parts: List[Buffer] = []
        self._left: List[memoryview] = []  # what is to be filled after _room, the last first
        whole = size <= _ONE_BUFFER
        self._head = memoryview(bytearray(size if whole else _START.size))
        self._room = self._head
        self._whole = whole

    @property
    def done(self) -> bool:
        return not self._room

    def room(self) -> memoryview:
        """Where the next bytes belong; never empty until done."""
        return self._room

    def advance(self, n: int) -> None:
        """n bytes of room() have been filled. ValueError: the body breaks the rules, and its connection must be closed."""
        self._room = self._room[n:]
        while not self._room and self._next():
            pass

    def feed(self, data: Buffer) -> int:
        """Copies from data what belongs to this body, and tells how much that was."""
        view, at = memoryview(data), 0
        while self._room and at < len(view):
            n = min(len(self._room), len(view) - at)
            self._room[:n] = view[at:at + n]
            at += n
            self.advance(n)
        return at

    def parts(self) -> List[Buffer]:
        """As value_parts gives them, once done."""
        if self._whole:
            return value_parts(self._head, self._limit)
        if self._entries is None:
            return self._parts
        return [_decoded(p, e) for p, e in zip(self._parts, self._entries)]

    def _next(self) -> bool:
        """Makes room for what comes after the piece that is full; False at the end."""
        if self._whole:
            return False
        if self._left:
            self._room = self._left.pop()
        elif self._parts:
            return False
        elif self._head[:4] != _MAGIC:
            memory = reserve(self._size)
            memory[:len(self._head)] = self._head
            self._parts, self._room = [memory], memory[len(self._head):]
        elif not self._count:
            self._count = _count(self._head, self._size)
            self._head = memoryview(bytearray(self._head) + bytearray(self._count * _ENTRY.size))
            self._room = self._head[_START.size:]
        else:
            self._entries = _entries(self._head[_START.size:], self._count, self._size, self._limit)
            self._parts = [reserve(stored) for _, stored, _ in self._entries]
            self._left = [p for p in reversed(self._parts) if len(p)]  # type: ignore[misc]
        return True
