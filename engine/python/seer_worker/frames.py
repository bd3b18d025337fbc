"""Frames: the unit of talk between a client and a worker. docs/protocol.md, section 3."""

import json
import struct
from typing import Any, Dict, List, NamedTuple, NoReturn

MAX_HEADER = 1 << 20
MAX_BODY = 4 << 30
_PREFIX = struct.Struct("<IQ")


class FrameError(Exception):
    """The peer broke the rules; its connection must be closed."""


class Frame(NamedTuple):
    header: Dict[str, Any]
    body: bytes


def _refuse(word: str) -> NoReturn:
    raise ValueError(word + " is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def load_json(data: bytes) -> Any:
    """Reads strict JSON; whatever is wrong with it is a ValueError."""
    try:
        return _decode(str(data, "utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def begin(header: bytes, size: int) -> bytes:
    """The bytes that come before a body of the given size."""
    if len(header) > MAX_HEADER or size > MAX_BODY:
        raise FrameError("a frame of %d+%d bytes is larger than the protocol allows" % (len(header), size))
    return _PREFIX.pack(len(header), size) + header


class Decoder:
    """Cuts a stream into frames, however it was split on the way."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._need = 0  # with fewer bytes nothing more can be said

    def __len__(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return len(self._rest)

    def feed(self, data: bytes) -> List[Frame]:
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
            self._rest = bytearray()
        frames: List[Frame] = []
        at, size = 0, len(data)
        while size - at >= _PREFIX.size:
            header_size, body_size = _PREFIX.unpack_from(data, at)
            if header_size > MAX_HEADER or body_size > MAX_BODY:
                raise FrameError("a frame of %d+%d bytes is larger than the protocol allows" % (header_size, body_size))
            start = at + _PREFIX.size
            self._need = _PREFIX.size + header_size + body_size
            if at + self._need > size:
                break
            frames.append(Frame(_header(data[start:start + header_size]), data[start + header_size:at + self._need]))
            at += self._need
            self._need = _PREFIX.size
        if at < size:
            self._rest += data[at:] if at else data
        return frames


def _header(data: bytes) -> Dict[str, Any]:
    try:
        header = load_json(data)
    except ValueError as e:
        raise FrameError("the header of a frame is not JSON: %s" % e) from None
    if type(header) is not dict or type(header.get("t")) is not str or type(header.get("id")) is not str:
        raise FrameError("the header of a frame needs the strings t and id")
    return header
