"""The cells of a shared document as they are now. Reading one, and writing its JSON, takes long: it is done once after each change."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence

from .saving import cell_text

SMALL = 256 << 10  # characters: what is longer is not kept here a second time
MOST = 32 << 20  # characters of all together
AT_ONCE = 20  # cells whose text is written without others having to wait


class _Kept:
    def __init__(self, name: str, cell: Optional[Dict[str, Any]], size: int) -> None:
        self.name, self.cell, self.text, self.size = name, cell, "", size


class SharedCells:
    """Those of an array; follow has to hear of every change of it."""

    def __init__(self, array: Any, read: Callable[[int], Dict[str, Any]]) -> None:
        """read gives the cell at an index as nbformat has it."""
        self._array, self._read = array, read
        self._kept: List[Optional[_Kept]] = []
        self._held = 0  # characters of cells that are kept, at most

    def follow(self, events: Sequence[Any]) -> None:
        """Forgets what these events of observe_deep are about. Their paths are those after all of them."""
        try:
            for event in events:
                if not event.path:  # cells came, went or changed places
                    self._shift(event.delta)
            for event in events:
                if event.path:
                    self._kept[event.path[0]] = None
        except Exception:  # a library that says it in another way
            self._kept = []

    def _shift(self, delta: Sequence[Dict[str, Any]]) -> None:
        at = 0
        for part in delta:
            if "retain" in part:
                at += int(part["retain"])
            elif "delete" in part:
                del self._kept[at:at + int(part["delete"])]
            else:
                new: List[Optional[_Kept]] = [None] * len(part["insert"])
                self._kept[at:at] = new
                at += len(new)

    def ids(self) -> List[str]:
        return [self._at(n).name for n in range(self._size())]

    def cell(self, at: int) -> Dict[str, Any]:
        """It is not to be changed."""
        self._size()
        return self._at(at).cell or self._read(at)

    def all(self) -> List[Dict[str, Any]]:
        return [self.cell(n) for n in range(self._size())]

    def texts(self) -> List[str]:
        """The JSON of each cell, as it stands in a notebook's file."""
        return [self._text(n) for n in range(self._size())]

    def large(self) -> bool:
        """Whether texts would take so long that others had to wait. Some are written for the next time."""
        kept = [self._at(n) for n in range(self._size())]
        lacking = [n for n, k in enumerate(kept) if not k.text]
        if any(k.cell is None for k in kept) or sum(len(k.text) for k in kept) > MOST:
            return True
        for n in lacking[:AT_ONCE]:
            self._text(n)
        return len(lacking) > AT_ONCE

    def _text(self, at: int) -> str:
        kept = self._at(at)
        if kept.text:
            return kept.text
        text = cell_text(self.cell(at))
        if len(text) <= SMALL:
            kept.text = text
        else:
            kept.cell = None
        return text

    def _size(self) -> int:
        size = len(self._array)
        if len(self._kept) != size:
            self._kept = [None] * size
        return size

    def _at(self, at: int) -> _Kept:
        found = self._kept[at]
        if found is None:
            cell = self._read(at)
            size = _length(cell)
            found = self._kept[at] = _Kept(str(self._array[at]["id"]), cell if size <= SMALL and self._room(size) else None, size)
        return found

    def _room(self, size: int) -> bool:
        """Whether one more of this size is kept."""
        if self._held + size > MOST:
            self._held = sum(k.size for k in self._kept if k is not None and k.cell is not None)
        if self._held + size > MOST:
            return False
        self._held += size
        return True


def _length(cell: Dict[str, Any]) -> int:
    """About how many characters it has."""
    size = len(cell["source"])
    for output in cell.get("outputs", ()):
        size += len(output.get("text", "")) + sum(len(v) if isinstance(v, str) else 0 for v in output.get("data", {}).values())
    return size
