"""A notebook that is a file: it is written whole, and what others have saved into it is joined with what is here."""

from __future__ import annotations

import asyncio
import copy
import os
import uuid
from typing import Any, Callable, Collection, Dict, List, Optional, Sequence, Tuple

import nbformat
from jupyter_core.utils import ensure_async

from ..execution.outputs import Output
from .document import MARK, Document
from .merge import Seen, digest, merge, plain
from .saving import Stat, state, write

RENAMED = 1.0  # seconds from the rename of a file until the browser has said so to Jupyter, at most
TRIES = 5  # of one saving, each with what others have written joined


class FileDocument(Document):
    def __init__(self, contents: Any, root: str, path: str, saved: Callable[[str], None], busy: Callable[[], Collection[str]],
                 moved: Callable[[], Any]) -> None:
        """busy tells the cells that run or wait; moved (async) gives the path that Jupyter knows now, should the file be gone."""
        super().__init__(saved)
        self.path = path
        self._contents, self._root, self._busy, self._moved = contents, root, busy, moved
        self._cells: List[Dict[str, Any]] = []
        self._metadata: Dict[str, Any] = {}
        self._number = 0  # of the last saving
        self._seen: Dict[str, Seen] = {}
        self._stat: Optional[Stat] = None
        self._revs: Dict[str, List[Tuple[int, int]]] = {}  # of each cell, which outputs in which state it shows

    async def load(self) -> None:
        stat = self._look()
        content = await self._read()
        self._cells, self._metadata = content["cells"], content["metadata"]
        self._number = self._based_on(content)
        self._stat = stat
        self._remember(0)

    async def refresh(self) -> None:
        await self._follow()
        stat = self._look()
        if stat is None or stat == self._stat or self._saving.locked():
            return
        async with self._saving:
            await self._join()

    async def _follow(self, patience: float = 0.0) -> None:
        """A file that was renamed in the browser is this one under its new name: the old name would be a second notebook. The browser
        tells Jupyter the new path after the file has it; patience is how many seconds this waits for that."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while self._stat is not None and self._look() is None:
            path = await self._moved()
            if path and path != self.path and os.path.exists(os.path.join(self._root, path)):
                self.path = path
                return
            if path != self.path or loop.time() >= end:
                return
            await asyncio.sleep(0.05)

    async def save(self) -> None:
        for _ in range(TRIES):  # somebody may save it meanwhile, or rename it
            if await self._write():
                return
        raise RuntimeError("its file changes all the time")

    async def _write(self) -> bool:
        """Whether the file was still the one that this began from."""
        await self._follow(RENAMED)
        before = self._look()
        if before not in (None, self._stat):
            await self._join()
            before = self._stat
        number = self._number + 1
        content = self.notebook()
        content["metadata"][MARK] = {"saved": number}
        cells = {c["id"]: c for c in content["cells"]}
        full = os.path.join(self._root, self.path)
        node = nbformat.from_dict(content)
        written = await asyncio.get_running_loop().run_in_executor(None, write, full, node, before)
        if written is None:
            return False
        self._stat, self._number = written, number
        self._remember(number, cells)
        return True

    def notebook(self) -> Dict[str, Any]:
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": copy.deepcopy(self._metadata), "cells": [_copied(c) for c in self._cells]}

    def ids(self) -> List[str]:
        return [c["id"] for c in self._cells]

    def cell(self, name: str) -> Dict[str, Any]:
        return self._cells[self._at(name)]

    def insert(self, index: int, cell: Dict[str, Any]) -> None:
        self._cells.insert(index, cell)
        self.touched()

    def remove(self, name: str) -> None:
        self._cells.pop(self._at(name))
        self.touched()

    def replace(self, name: str, cell: Dict[str, Any]) -> None:
        self._cells[self._at(name)] = {**cell, "id": name}
        self._revs.pop(name, None)
        self.touched()

    def show(self, name: str, items: Sequence[Output], count: Optional[int], running: bool) -> None:
        revs = [(id(item), item.rev) for item in items]
        try:
            cell = self.cell(name)
        except KeyError:
            return
        same = self._revs.get(name) == revs and cell.get("execution_count") == count and len(cell.get("outputs", ())) == len(revs)
        if cell["cell_type"] != "code" or same:
            return
        cell["outputs"], cell["execution_count"] = [dict(item.data) for item in items], count
        self._revs[name] = revs
        self.touched()

    def _at(self, name: str) -> int:
        for n, cell in enumerate(self._cells):
            if cell["id"] == name:
                return n
        raise KeyError(name)

    def _look(self) -> Optional[Stat]:
        return state(os.path.join(self._root, self.path))

    async def _join(self) -> None:
        """Takes over what is in the file. One that cannot be read is set aside, for it may be somebody's work."""
        stat = self._look()
        try:
            content = await self._read()
        except Exception:
            full = os.path.join(self._root, self.path)
            if stat is not None and os.path.exists(full):
                os.replace(full, "%s.unreadable-%s" % (full, uuid.uuid4().hex[:6]))
            self._stat = None
            self.touched()
            return
        cells = merge(self._seen, self._cells, content["cells"], self._based_on(content), set(self._busy()))
        before = [(c["id"], c["source"], digest(c)) for c in self._cells]
        same = before == [(c["id"], c["source"], digest(c)) for c in cells]
        self._cells, self._metadata, self._stat = cells, content["metadata"], stat
        for cell in content["cells"]:
            self._note(cell, 0)
        if not same or len(cells) != len(content["cells"]):
            self.touched()

    async def _read(self) -> Dict[str, Any]:
        model = await ensure_async(self._contents.get(self.path, type="notebook", content=True))
        content = copy.deepcopy(model["content"])
        taken = set()
        for cell in content["cells"]:
            if not cell.get("id") or cell["id"] in taken:
                cell["id"] = uuid.uuid4().hex[:12]
            taken.add(cell["id"])
            cell.setdefault("metadata", {}).pop("trusted", None)  # Jupyter's own business
        return {"cells": [_copied(c) for c in content["cells"]], "metadata": dict(content.get("metadata", {}))}

    def _based_on(self, content: Dict[str, Any]) -> int:
        mark = content["metadata"].pop(MARK, None)
        number = mark.get("saved", 0) if isinstance(mark, dict) else self._number  # not written by Jupyter: by whoever read the latest
        return number if isinstance(number, int) else 0

    def _remember(self, number: int, cells: Optional[Dict[str, Dict[str, Any]]] = None) -> None:
        for cell in self._cells if cells is None else cells.values():
            self._note(cell, number)
        here = {c["id"] for c in self._cells} if cells is None else set(cells)
        self._seen = {k: v for k, v in self._seen.items() if k in here}

    def _note(self, cell: Dict[str, Any], number: int) -> None:
        before, outputs = self._seen.get(cell["id"]), digest(cell)
        shown = before.shown if before is not None and before.outputs == outputs else number
        self._seen[cell["id"]] = Seen(cell["source"], cell["cell_type"], plain(cell.get("metadata")), outputs,
                                      number if before is None else before.born, shown if outputs and cell.get("outputs") else 0)


def _copied(cell: Any) -> Dict[str, Any]:
    """A cell that can be changed without changing this one; texts are shared."""
    found = {str(k): v for k, v in cell.items()}
    found["metadata"] = copy.deepcopy(dict(cell.get("metadata", {})))
    if "outputs" in cell:
        found["outputs"] = [dict(o) for o in cell["outputs"]]
    return found
