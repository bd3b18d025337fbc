"""Frames over a socket: docs/protocol.md, section 3."""

import json
import socket
import struct
from typing import Any, Dict, List, NamedTuple, NoReturn, Sequence, Union

from seer_worker.values import BodyReader

from .endpoint import Cut

FRAME_PREFIX = struct.Struct("<IQ")
MAX_FRAME_HEADER, MAX_FRAME_BODY = 1 << 20, 64 << 30
_TOGETHER = 1 << 16  # up to here a copy is cheaper than another piece
_MOST_PIECES = 512  # that one sendmsg takes
Body = Union[bytes, List[Any]]  # JSON, or what BodyReader.parts gives


class Event(NamedTuple):
    """A frame that has come."""

    kind: str
    header: Dict[str, Any]
    body: Body


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word + " is not JSON")


_json_decoder: Any = json.JSONDecoder(parse_constant=_no_constant)
_scan_json = _json_decoder.scan_once


def strict_json(text: str) -> Any:
    """Reads a JSON text; whatever is wrong with it is a ValueError."""
    try:
        value, end = _scan_json(text, 0)
        if end == len(text):
            return value
    except StopIteration:
        pass
    return _json_decoder.decode(text)  # there is space around it, or it is wrong


def frame_header(data: bytes) -> Dict[str, Any]:
    """Reads the header of a frame."""
    try:
        header = strict_json(str(data, "utf-8"))
    except (ValueError, RecursionError):
        header = None
    if type(header) is not dict or type(header.get("t")) is not str:
        raise Cut("the answer breaks the protocol")
    return header


def checked_sizes(prefix: bytes) -> "tuple[int, int]":
    """The sizes of header and body that a frame begins with."""
    header_size, body_size = FRAME_PREFIX.unpack_from(prefix)
    if header_size > MAX_FRAME_HEADER or body_size > MAX_FRAME_BODY:
        raise Cut("the answer is larger than the protocol allows")
    return header_size, body_size


class FrameStream:
    """One end of a stream of frames. What is large goes to where it stays without a copy in between."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.rest = b""  # has come, and is not read yet

    def read(self) -> Event:
        """The next frame; OSError and Cut where there is none."""
        data = self.rest or self._sock.recv(_TOGETHER)
        if len(data) >= FRAME_PREFIX.size:
            header_size, body_size = FRAME_PREFIX.unpack_from(data)
            start = FRAME_PREFIX.size + header_size
            end = start + body_size
            if end <= len(data) and header_size <= MAX_FRAME_HEADER:
                header = frame_header(data[FRAME_PREFIX.size:start])
                self.rest = data[end:]
                return Event(header["t"], header, data[start:end])
        return self._read_on(data)

    def _read_on(self, data: bytes) -> Event:
        """A frame that has not come as a whole."""
        data = self._fill(data, FRAME_PREFIX.size)
        header_size, body_size = checked_sizes(data)
        start = FRAME_PREFIX.size + header_size
        data = self._fill(data, start)
        header = frame_header(data[FRAME_PREFIX.size:start])
        if body_size <= _TOGETHER:
            data = self._fill(data, start + body_size)
            self.rest = data[start + body_size:]
            return Event(header["t"], header, data[start:start + body_size])
        reader = BodyReader(body_size)
        try:
            self.rest = data[start + reader.feed(memoryview(data)[start:]):]
            while not reader.done:
                reader.advance(_some(self._sock.recv_into(reader.room())))
            return Event(header["t"], header, reader.parts())
        except ValueError as e:
            raise Cut("the answer breaks the protocol: %s" % e) from None

    def _fill(self, data: bytes, size: int) -> bytes:
        """At least so many bytes."""
        parts, have = [data], len(data)
        while have < size:
            part = self._sock.recv(max(size - have, _TOGETHER))
            have += _some(len(part))
            parts.append(part)
        return b"".join(parts) if len(parts) > 1 else data

    def write(self, header: bytes, body: Sequence[Any] = (), size: int = 0) -> None:
        """Sends a frame; size is that of the body."""
        head = FRAME_PREFIX.pack(len(header), size) + header
        if size <= _TOGETHER:
            self._sock.sendall(b"".join((head, *body)))
        else:
            send_buffers(self._sock, [head, *body])


def _some(n: int) -> int:
    if not n:
        raise Cut("the connection was closed")
    return n


def send_buffers(sock: socket.socket, buffers: Sequence[Any]) -> None:
    """Sends them one after the other as they lie in memory."""
    if not hasattr(sock, "sendmsg"):
        for buffer in buffers:
            sock.sendall(buffer)
        return
    waiting = [memoryview(b).cast("B") for b in buffers if len(b)]
    at = 0
    while at < len(waiting):
        sent = sock.sendmsg(waiting[at:at + _MOST_PIECES])
        while at < len(waiting) and sent >= len(waiting[at]):
            sent -= len(waiting[at])
            at += 1
        if sent:
            waiting[at] = waiting[at][sent:]
