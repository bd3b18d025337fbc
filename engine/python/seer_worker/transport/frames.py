"""Frames: the unit of talk between a client and a worker. docs/protocol.md, section 3."""

import json
import struct
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Union

from ..values.body import BodyReader

MAX_HEADER = 1 << 20
MAX_BODY = 64 << 30
ONE_PIECE = 64 << 10  # a larger body is read into memory of its own
_PREFIX = struct.Struct("<IQ")


class FrameError(Exception):
    """The peer broke the rules; its connection must be closed."""


class Frame(NamedTuple):
    header: Dict[str, Any]
    body: Union[bytes, BodyReader]  # the latter where it is larger than ONE_PIECE


def _refuse(word: str) -> NoReturn:
    raise ValueError(word + " is not JSON")


_decoder: Any = json.JSONDecoder(parse_constant=_refuse)
_decode, _scan = _decoder.decode, _decoder.scan_once


def load_json(data: Union[bytes, bytearray, memoryview]) -> Any:
    """Reads strict JSON; whatever is wrong with it is a ValueError."""
    try:
        text = str(data, "utf-8")
        try:
            value, end = _scan(text, 0)
            if end == len(text):
                return value
        except StopIteration:
            pass
        return _decode(text)  # there is space around it, or it is wrong
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def begin(header: bytes, size: int) -> bytes:
    """The bytes that come before a body of the given size."""
    if len(header) > MAX_HEADER or size > MAX_BODY:
        raise FrameError("a frame of %d+%d bytes is larger than the protocol allows" % (len(header), size))
    return _PREFIX.pack(len(header), size) + header


class Decoder:
    """Cuts a stream into frames, however it was split on the way.

    A large body is not gathered here: while reader is there, the next bytes belong into its room(), and filled() says
    how many have come.
    """

    def __init__(self, reader: Callable[[int], BodyReader] = BodyReader) -> None:
        """reader takes in a large body of so many bytes."""
        self._make = reader
        self.reader: Optional[BodyReader] = None
        self._header: Dict[str, Any] = {}
        self._rest = b""

    def feed(self, data: bytes) -> List[Frame]:
        """The frames that are complete with these bytes."""
        frames: List[Frame] = []
        at = 0
        if self.reader is not None:
            at = self._into_reader(data, frames)
        if self._rest:
            data = self._rest + data
            self._rest = b""
        size = len(data)
        while size - at >= _PREFIX.size:
            header_size, body_size = _PREFIX.unpack_from(data, at)
            if header_size > MAX_HEADER or body_size > MAX_BODY:
                raise FrameError("a frame of %d+%d bytes is larger than the protocol allows" % (header_size, body_size))
            start = at + _PREFIX.size
            body = start + header_size
            if body > size:
                break
            if body_size > ONE_PIECE:
                self._header, self.reader = _header(data[start:body]), self._reader(body_size)
                at = body + self._into_reader(data[body:], frames)
                continue
            if body + body_size > size:
                break
            frames.append(Frame(_header(data[start:body]), data[body:body + body_size]))
            at = body + body_size
        if at < size:
            self._rest = data[at:]
        return frames

    def filled(self, n: int) -> List[Frame]:
        """n bytes have been written into the room of the reader."""
        reader = self.reader
        if reader is None:
            return []
        try:
            reader.advance(n)
        except ValueError as e:
            raise FrameError(str(e)) from None
        if not reader.done:
            return []
        self.reader = None
        return [Frame(self._header, reader)]

    def _reader(self, size: int) -> BodyReader:
        try:
            return self._make(size)
        except ValueError as e:
            raise FrameError(str(e)) from None

    def _into_reader(self, data: bytes, frames: List[Frame]) -> int:
        reader = self.reader
        if reader is None:
            return 0
        try:
            taken = reader.feed(data)
        except ValueError as e:
            raise FrameError(str(e)) from None
        frames += self.filled(0) if reader.done else []
        return taken


def _header(data: bytes) -> Dict[str, Any]:
    try:
        header = load_json(data)
    except ValueError as e:
        raise FrameError("the header of a frame is not JSON: %s" % e) from None
    if type(header) is not dict or type(header.get("t")) is not str or type(header.get("id", "")) is not str:
        raise FrameError("the header of a frame needs the string t, and id must be a string")
    return header
