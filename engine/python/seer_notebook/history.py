"""The history of shared documents, with which a server that is started again goes on: it is written a few times a second."""

from __future__ import annotations

import asyncio
from typing import Any, List, Optional

from jupyter_server_ydoc.stores import SQLiteYStore
from pycrdt import merge_updates
from traitlets import Unicode

SOON = 0.2  # seconds: less than until a notebook's file is saved, for what is in that is to be here, too


def kept_at(path: str) -> Any:
    """The class of stores with this database. It is one of its own: the extension makes stores without its configuration, too."""
    return type("Store", (Store,), {"db_path": Unicode(path)})


class Store(SQLiteYStore):  # type: ignore[misc]
    """Each writing is a transaction with the disk, in a thread; what came meanwhile is written as one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: List[bytes] = []
        self._writer: Optional[asyncio.Task] = None

    async def write(self, data: bytes) -> None:
        self._waiting.append(data)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.ensure_future(self._write_soon())

    async def flush(self) -> None:
        """Writes what waits."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            await super().write(merge_updates(*waiting) if len(waiting) > 1 else waiting[0])

    async def stop(self) -> None:
        await self.flush()
        await super().stop()

    async def _write_soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(SOON)
            try:
                await self.flush()
            except Exception:
                self.log.exception("the history of a shared document could not be written")
