"""The body of a frame: a value's JSON, with raw buffers behind it where there are any. docs/protocol.md, section 4.

    parts = value_parts(body)               parts[0] is the JSON; nothing is copied that is not compressed
    value = decode(parts, tagged)           values_decode.py

A receiver that wants each buffer where it stays, without a second copy:

    reader = BodyReader(size)
    while not reader.done:
        reader.advance(sock.recv_into(reader.room()))
    value = decode(reader.parts(), tagged)

A sender: sock.sendmsg(encoded.body()), whose lengths are encoded.size() together.
"""

from typing import List, Union

Buffer = Union[bytes, bytearray, memoryview]


def value_parts(body: Buffer, limit: int = 64 << 30) -> List[Buffer]:
    """Takes a body apart; ValueError where it breaks the rules or is more than limit bytes when decoded."""
    raise NotImplementedError


class BodyReader:
    """Takes a body in as it comes. Memory for what has not come yet is reserved but not used."""

    def __init__(self, size: int, limit: int = 64 << 30) -> None:
        self.done = size == 0

    def room(self) -> memoryview:
        """Where the next bytes belong; never empty until done."""
        raise NotImplementedError

    def advance(self, n: int) -> None:
        """n bytes of room() have been filled. ValueError: the body breaks the rules, and the connection must be closed."""
        raise NotImplementedError

    def feed(self, data: Buffer) -> int:
        """Copies from data what belongs to this body, and tells how much that was."""
        raise NotImplementedError

    def parts(self) -> List[Buffer]:
        """As value_parts gives them."""
        raise NotImplementedError
