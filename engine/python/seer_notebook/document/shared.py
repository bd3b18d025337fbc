"""A notebook that browsers share: the document of jupyter_server_ydoc, through its get_document."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from jupyter_ydoc.utils import cast_all
from pycrdt import Map, Text

from ..execution.outputs import Output
from .cells import SharedCells
from .document import Document
from .saving import joined


class SharedDocument(Document):
    """What is changed here is in every open browser at once, and the other way round."""

    def __init__(self, extension: Any, path: str, saved: Callable[[str], None]) -> None:
        super().__init__(saved)
        self._extension, self._first_path = extension, path
        self._nb: Any = None
        self._room: Any = None
        self._watch: Any = None
        self._cells: Any = None
        self._shown: Dict[str, List[Tuple[Output, int, int]]] = {}  # of each cell, which outputs in which state it shows

    @property
    def path(self) -> str:  # type: ignore[override]
        return str(getattr(self._nb, "path", None) or self._first_path)

    async def load(self, empty: bool = False) -> None:
        """Opens it. Of a new notebook the cell that Jupyter invents is taken out."""
        self._nb = await self._extension.get_document(
            path=self._first_path, content_type="notebook", file_format="json", copy=False, create=True)
        for room in self._extension.ywebsocket_server.rooms.values():
            if getattr(room, "_document", None) is self._nb:
                self._room = room
        if empty:
            del self._nb.ycells[:]
        self._cells = SharedCells(self._nb.ycells, lambda at: _plain(self._nb.get_cell(at)))
        self._watch = self._nb.ycells.observe_deep(self._changed)

    def _changed(self, events: Any) -> None:
        self._cells.follow(events)
        self.touched()

    async def save(self) -> None:
        store = getattr(self._room, "ystore", None)
        if store is not None:
            await store.flush()
        async with self._room._update_lock:  # else this change would make the room save it, too
            self._nb.dirty = True
        await self._room._maybe_save_document(None, save_now=True)
        if self._nb.dirty:  # the room has only logged why
            raise RuntimeError("the log of the Jupyter server says why")

    async def close(self) -> None:
        await super().close()
        if self._watch is not None:
            self._nb.ycells.unobserve(self._watch)
            self._watch = None

    def notebook(self) -> Dict[str, Any]:
        found: Dict[str, Any] = self._nb.get()
        return {**found, "nbformat": 4, "nbformat_minor": 5, "cells": [_plain(c) for c in found["cells"]]}

    async def text(self) -> str:
        ids = self.ids()
        if self._cells.large() or len(set(ids)) != len(ids):  # which the library puts right
            return await super().text()
        return joined(self._cells.texts(), self._metadata())

    def _metadata(self) -> Dict[str, Any]:
        found = {"metadata": self._nb.ydoc.get("meta", type=Map).get("metadata", {})}
        found["metadata"] = found["metadata"].to_py() if isinstance(found["metadata"], Map) else found["metadata"]
        cast_all(found, float, int)  # browsers know no whole numbers
        return found["metadata"]

    def ids(self) -> List[str]:
        return self._cells.ids()

    def cell(self, name: str) -> Dict[str, Any]:
        return self._cells.cell(self._at(name))

    def insert(self, index: int, cell: Dict[str, Any]) -> None:
        self._nb.ycells.insert(index, self._nb.create_ycell(cell))

    def remove(self, name: str) -> None:
        self._shown.pop(name, None)
        del self._nb.ycells[self._at(name)]

    def move(self, name: str, index: int) -> None:
        cell = self._nb.get_cell(self._at(name))
        self.remove(name)
        self._nb.ycells.insert(index, self._nb.create_ycell(cell))

    def replace(self, name: str, cell: Dict[str, Any]) -> None:
        at = self._at(name)
        if self._nb.ycells[at]["cell_type"] == cell["cell_type"]:
            self._edit(at, cell["source"])
        else:
            self._shown.pop(name, None)
            self._nb.ycells[at] = self._nb.create_ycell({**cell, "id": name})

    def _edit(self, at: int, source: str) -> None:
        try:
            self._nb.set_cell(at, source=source)  # letter by letter, so that who types in it goes on typing
        except TypeError:  # a library that is older than that
            with self._nb.ycells.doc.transaction():
                text = self._nb.ycells[at]["source"]
                text.clear()
                text += source

    def show(self, name: str, items: Sequence[Output], count: Optional[int], running: bool) -> None:
        try:
            cell = self._nb.ycells[self._at(name)]
        except KeyError:
            return
        if cell["cell_type"] != "code":
            return
        with self._nb.ycells.doc.transaction():
            state = "running" if running else "idle"
            if cell.get("execution_state") != state:
                cell["execution_state"] = state
            if cell.get("execution_count") != count:
                cell["execution_count"] = count
            self._shown[name] = self._outputs(cell["outputs"], self._shown.get(name, []), items)

    def _outputs(self, array: Any, shown: List[Tuple[Output, int, int]], items: Sequence[Output]) -> List[Tuple[Output, int, int]]:
        if len(array) != len(shown):  # somebody has cleared them, or they come from the file
            shown = []
        same = 0
        while same < min(len(shown), len(items)) and shown[same][0] is items[same] and shown[same][1] == items[same].rev:
            same += 1
        if same < len(shown) and same < len(items) and shown[same][0] is items[same] and items[same].data["output_type"] == "stream":
            text = items[same].data["text"]
            if len(text) > shown[same][2] > 0:
                shared = array[same]["text"]
                shared += text[shown[same][2]:]
                same += 1
        if len(array) > same:
            del array[same:]
        if len(items) > same:
            array.extend([_shared(item.data) for item in items[same:]])
        return [(item, item.rev, len(item.data.get("text", ""))) for item in items]

    def _at(self, name: str) -> int:
        try:
            return self._cells.ids().index(name)
        except ValueError:
            raise KeyError(name) from None


def _shared(output: Dict[str, Any]) -> Map:
    """An output for the document, which keeps nothing of this one. A stream's text grows."""
    found = copy.deepcopy(output)
    if found["output_type"] == "stream":
        found["text"] = Text(found["text"])
    return Map(found)


def _plain(cell: Dict[str, Any]) -> Dict[str, Any]:
    """A cell as nbformat has it in memory: whether it is trusted is Jupyter's own business, and texts are whole."""
    metadata = {k: v for k, v in (cell.get("metadata") or {}).items() if k != "trusted"}
    found = {**cell, "metadata": metadata, "source": _joined(cell.get("source", ""))}
    if "outputs" in cell:
        found["outputs"] = [{**o, "text": _joined(o.get("text", ""))} if o.get("output_type") == "stream" else o for o in cell["outputs"]]
    return found


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, (list, tuple)) else str(text or "")
