"""Reads what a kernel publishes. A text of hundreds of megabytes in one message is given away in pieces, and never held a second time."""

from __future__ import annotations

import hmac
import json
import re
from typing import Any, Dict, Iterator, List

PIECE = 256 << 10  # bytes of a text at once
LARGE = 4 << 20  # bytes of a message that is read in pieces
_DELIMITER = b"<IDS|MSG>"
_STREAM = re.compile(rb'\s*\{\s*"name":\s*"(stdout|stderr)",\s*"text":\s*"')
_END = re.compile(rb'"\s*\}\s*\Z')


def read(session: Any, frames: List[Any]) -> Iterator[Dict[str, Any]]:
    """The message of these frames of a socket; of a long stream, one message for each piece. ValueError for one that is none."""
    if sum(len(f) for f in frames) > LARGE:
        found = _stream(session, frames)
        if found is not None:
            yield from found
            return
    _, parts = session.feed_identities([f.bytes for f in frames])
    yield session.deserialize(parts)


class Counter:
    """Sees that messages are missing: a kernel drops what it cannot get rid of, and numbers what it says."""

    _FEW = 50  # answers to others lie between those that are published

    def __init__(self) -> None:
        self._who, self._last = "", 0

    def missing(self, header: Dict[str, Any]) -> int:
        """About how many were lost before this one; 0 where none were, or it cannot be known."""
        who, _, number = str(header.get("msg_id", "")).rpartition("_")
        if not who or not number.isdecimal():
            return 0
        gap = int(number) - self._last - 1 if who == self._who else 0
        self._who, self._last = who, int(number)
        return gap if gap > self._FEW else 0


def _stream(session: Any, frames: List[Any]) -> Any:
    """The pieces of a stream's text; None for anything else."""
    at = next((n for n, f in enumerate(frames) if len(f) == len(_DELIMITER) and f.bytes == _DELIMITER), -1)
    if at < 0 or len(frames) < at + 6:
        return None
    header, parent = session.unpack(frames[at + 2].bytes), session.unpack(frames[at + 3].bytes)
    content = memoryview(frames[at + 5].buffer)
    begin, end = _STREAM.match(bytes(content[:100])), _END.search(bytes(content[-20:]))
    if header.get("msg_type") != "stream" or begin is None or end is None:
        return None
    if session.auth is not None and not hmac.compare_digest(session.sign([f.buffer for f in frames[at + 2:at + 6]]), frames[at + 1].bytes):
        raise ValueError("a message of the kernel is not signed with its key")
    name = begin.group(1).decode()
    text = content[begin.end():len(content) - min(20, len(content)) + end.start()]
    return ({"header": header, "parent_header": parent, "content": {"name": name, "text": piece}} for piece in pieces(text))


def pieces(escaped: memoryview, size: int = PIECE) -> Iterator[str]:
    """What the inside of a JSON string says, piece by piece; no character and no escape is cut."""
    at = 0
    while at < len(escaped):
        end = min(at + size, len(escaped))
        text, end = _longest(escaped, at, end)
        yield text
        at = end


def _longest(escaped: memoryview, start: int, end: int) -> Any:
    spare = None
    for at in range(end, max(start, end - 16), -1):
        try:
            text = json.loads(b'"%s"' % bytes(escaped[start:at]))
        except ValueError:
            continue
        if at == len(escaped) or not "\ud800" <= text[-1:] <= "\udbff":
            return text, at
        spare = spare or (text, at)  # half of a character, unless the other half does not follow at all
    if spare is None:
        raise ValueError("a message of the kernel cannot be read")
    return spare
