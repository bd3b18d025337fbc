"""What the service needs of a notebook, be it a file or the document that browsers share."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Callable, Dict, List, Optional, Sequence

from ..execution.outputs import Output
from .saving import as_jupyter_writes

TYPES = ("code", "markdown", "raw")
SAVE = 0.5  # seconds between two savings, at least
MARK = "seer"  # in the notebook's metadata: the number of the saving that a saved file came from


def new_cell(kind: str, source: str) -> Dict[str, Any]:
    cell: Dict[str, Any] = {"id": uuid.uuid4().hex[:12], "cell_type": kind, "metadata": {}, "source": source}
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell


def new_notebook() -> Dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": 5, "cells": [],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
                         "language_info": {"name": "python"}}}


def of_type(cell: Dict[str, Any], kind: str) -> Dict[str, Any]:
    """The cell as another type: only code has outputs."""
    if cell["cell_type"] == kind:
        return cell
    kept = {k: v for k, v in cell.items() if k not in ("outputs", "execution_count")}
    kept["cell_type"] = kind
    return {**kept, "execution_count": None, "outputs": []} if kind == "code" else kept


class Document:
    """A notebook. Changes are made at once and saved soon; version says whether anything has changed."""

    path = ""

    def __init__(self, saved: Callable[[str], None]) -> None:
        """saved is told an empty text when the notebook has been saved, else why it could not."""
        self._boot, self._changes = uuid.uuid4().hex[:6], 0
        self._more, self._dirty = asyncio.Event(), asyncio.Event()
        self._saved = saved
        self._saver: Optional[asyncio.Task] = None
        self._closed = False
        self._saving = asyncio.Lock()

    @property
    def version(self) -> str:
        return "%s-%d" % (self._boot, self._changes)

    async def wait(self, version: str, seconds: float) -> bool:
        """Whether the notebook has another version than that one within the time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.version == version:
            await self.refresh()
            left = end - loop.time()
            if self.version != version or left <= 0:
                break
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), min(left, 1.0))  # a file is looked at once a second
            except asyncio.TimeoutError:
                pass
        return self.version != version

    def touched(self) -> None:
        self._changes += 1
        self._more.set()
        self._dirty.set()
        if not self._closed and (self._saver is None or self._saver.done()):
            self._saver = asyncio.ensure_future(self._save_soon())

    async def flush(self) -> None:
        """Saves what is not saved. A saving that has begun has ended then, too."""
        async with self._saving:
            if self._dirty.is_set():
                self._dirty.clear()
                try:
                    await self.save()
                    self._saved("")
                except Exception as e:
                    self._dirty.set()
                    self._saved("the notebook could not be saved: %s" % (getattr(e, "strerror", None) or e))

    async def close(self) -> None:
        """Nothing is written after it, so that a file that is deleted then stays deleted."""
        self._closed = True
        if self._saver is not None:
            self._saver.cancel()
            self._saver = None
        await self.flush()

    async def _save_soon(self) -> None:
        loop = asyncio.get_running_loop()
        while self._dirty.is_set():
            await asyncio.sleep(SAVE)
            start = loop.time()
            await asyncio.shield(asyncio.ensure_future(self.flush()))
            took = loop.time() - start
            await asyncio.sleep(min(5.0, 5 * took) if not self._dirty.is_set() or took > 0.1 else 2.0 * self._dirty.is_set())

    # What the two kinds do in their own way:

    async def refresh(self) -> None:
        """Takes over what others have written."""

    async def save(self) -> None:
        raise NotImplementedError

    def notebook(self) -> Dict[str, Any]:
        raise NotImplementedError

    async def text(self) -> str:
        """The notebook as Jupyter writes it."""
        return await asyncio.get_running_loop().run_in_executor(None, as_jupyter_writes, self.notebook())

    def ids(self) -> List[str]:
        raise NotImplementedError

    def cell(self, name: str) -> Dict[str, Any]:
        """A cell as nbformat has it; KeyError where there is none. It is not to be changed."""
        raise NotImplementedError

    def insert(self, index: int, cell: Dict[str, Any]) -> None:
        raise NotImplementedError

    def remove(self, name: str) -> None:
        raise NotImplementedError

    def replace(self, name: str, cell: Dict[str, Any]) -> None:
        """The source and the type of a cell become those of another."""
        raise NotImplementedError

    def move(self, name: str, index: int) -> None:
        cell = self.cell(name)
        self.remove(name)
        self.insert(index, cell)

    def show(self, name: str, items: Sequence[Output], count: Optional[int], running: bool) -> None:
        """The outputs and the number of a code cell that runs or has run. Nothing happens where it is gone."""
        raise NotImplementedError
