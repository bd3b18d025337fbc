"""The outputs of a cell as the notebook keeps them, from the messages of its kernel."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Optional, Tuple

KEPT = 1 << 20  # bytes of text in the notebook, head and tail
PIECE_LIMIT = 16 << 20  # bytes of one image or other datum


class Output:
    """One nbformat output; rev grows with each change, so that who has written it knows whether to do so again."""

    def __init__(self, data: Dict[str, Any], display_id: str = "") -> None:
        self.data, self.display_id, self.rev = data, display_id, 0


class Outputs:
    """What a cell has put out. Text beyond the limit is kept from its head and its tail; seal joins them."""

    def __init__(self, where: str) -> None:
        self.items: List[Output] = []
        self.text_bytes = 0  # that came
        self.cut = False
        self._where = where
        self._head = 0
        self._tail: List[Tuple[str, str, int]] = []
        self._tail_bytes = 0
        self._marker: Optional[Output] = None
        self._clear = False

    def stream(self, name: str, text: str) -> None:
        self._cleared()
        size = len(text.encode("utf-8", "replace"))
        self.text_bytes += size
        if self._marker is None and self._head + size <= KEPT // 2:
            self._head += size
            self._append(name, text)
            return
        if self._marker is None:
            room = KEPT // 2 - self._head
            first = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
            self._head = KEPT // 2
            if first:
                self._append(name, first)
                text = text[len(first):]
            self._marker = Output({"output_type": "stream", "name": "stderr", "text": self._line(0)})
            self.items.append(self._marker)
        self._keep(name, text)

    def _keep(self, name: str, text: str) -> None:
        size = len(text.encode("utf-8", "replace"))
        self._tail.append((name, text, size))
        self._tail_bytes += size
        while self._tail_bytes > KEPT // 2 and self._tail:
            over = self._tail_bytes - KEPT // 2
            name, text, size = self._tail[0]
            self._tail.pop(0)
            self._tail_bytes -= size
            if size > over:
                rest = text.encode("utf-8", "replace")[over:].decode("utf-8", "ignore")
                size = len(rest.encode("utf-8", "replace"))
                self._tail.insert(0, (name, rest, size))
                self._tail_bytes += size
                break

    def add(self, data: Dict[str, Any], display_id: str = "") -> Dict[str, Any]:
        """Adds a result, a display or an error; gives what has been kept of it."""
        self._cleared()
        data = limited(data)
        self.items.append(Output(data, display_id))
        return data

    def update(self, display_id: str, data: Dict[str, Any], metadata: Dict[str, Any]) -> List[Dict[str, Any]]:
        """A display with that id shows something else now; gives the outputs that have changed."""
        changed = []
        for item in self.items:
            if display_id and item.display_id == display_id:
                item.data = limited({**item.data, "data": data, "metadata": metadata})
                item.rev += 1
                changed.append(item.data)
        return changed

    def clear(self, wait: bool) -> None:
        self._clear = True
        if not wait:
            self._cleared()

    def seal(self) -> None:
        """After the last of them: the tail follows the line that says what is left out."""
        if self._marker is None:
            return
        left = self.text_bytes - self._head - self._tail_bytes
        at = self.items.index(self._marker)
        tail: List[Output] = []
        for name, text, _ in self._tail:
            if tail and tail[-1].data["name"] == name:
                tail[-1].data["text"] += text
            else:
                tail.append(Output({"output_type": "stream", "name": name, "text": text}))
        if left > 0:
            self.cut = True
            self.items[at] = Output({**self._marker.data, "text": self._line(left)})
            at += 1
        else:
            self.items.pop(at)
        self.items[at:at] = tail
        self._marker, self._tail = None, []

    def plain(self) -> List[Dict[str, Any]]:
        return [copy.deepcopy(item.data) for item in self.items]

    def _line(self, left: int) -> str:
        if not left:
            return "\n[more than %d bytes of text: the rest will be told at the end; all of it is in %s]\n" % (KEPT // 2, self._where)
        return "\n[%d bytes of text are left out here; all of it is in %s]\n" % (left, self._where)

    def _append(self, name: str, text: str) -> None:
        last = self.items[-1] if self.items else None
        if last is not None and last.data["output_type"] == "stream" and last.data["name"] == name:
            last.data["text"] += text
            last.rev += 1
        else:
            self.items.append(Output({"output_type": "stream", "name": name, "text": text}))

    def _cleared(self) -> None:
        if self._clear:
            self.items, self._tail, self._marker = [], [], None
            self._head = self._tail_bytes = self.text_bytes = 0
            self._clear = False


def limited(data: Dict[str, Any]) -> Dict[str, Any]:
    """Without the pieces that are too large for a notebook; a line says so in their place."""
    if data["output_type"] == "error":
        return {**data, "evalue": _short(data["evalue"]), "traceback": _lines(data["traceback"])}
    bundle, notes = {}, []
    for mime, value in data.get("data", {}).items():
        size = _size(value)
        if size > PIECE_LIMIT or (mime.startswith("text/") and size > KEPT and mime != "text/html"):
            notes.append("[%s of %d bytes is left out: more than %d]" % (mime, size, PIECE_LIMIT if size > PIECE_LIMIT else KEPT))
            if mime.startswith("text/") and isinstance(value, str) and size <= PIECE_LIMIT:
                bundle[mime] = _short(value)
        else:
            bundle[mime] = value
    if notes:
        plain = bundle.get("text/plain", "")
        bundle["text/plain"] = "\n".join([plain] * bool(plain) + notes)
    return {**data, "data": bundle}


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value)) + 2 * len(value)
    if isinstance(value, dict):
        return sum(len(str(k)) + _size(v) for k, v in value.items())
    return 8


def _short(text: str, limit: int = KEPT // 4) -> str:
    if len(text) <= limit:
        return text
    return "%s\n[%d characters are left out here]\n%s" % (text[:limit // 2], len(text) - limit, text[-(limit // 2):])


def _lines(lines: List[str]) -> List[str]:
    if len(lines) > 1000:
        lines = lines[:500] + ["[%d lines are left out here]" % (len(lines) - 1000)] + lines[-500:]
    return [_short(line) for line in lines]
