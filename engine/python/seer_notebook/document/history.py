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
        self._one = asyncio.Lock()
        self._fails = False

    async def write(self, data: bytes) -> None:
        self._waiting.append(data)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.ensure_future(self._write_soon())

    async def flush(self) -> None:
        """Returns when what waits is written. What cannot be, waits for the next time: a notebook's own file is saved all the same."""
        if self.db_initialized is None or not self.db_initialized.is_set():
            return
        async with self._one:
            waiting, self._waiting = self._waiting, []
            if not waiting:
                return
            data = merge_updates(*waiting) if len(waiting) > 1 else waiting[0]
            handler = getattr(self._db, "_exception_handler", None)
            self._db._exception_handler = None  # it would only log that nothing was written
            try:
                await super().write(data)
                self._fails = False
            except BaseException as e:
                self._waiting.insert(0, data)
                if not isinstance(e, Exception):
                    raise
                if not self._fails:
                    self.log.exception("the history of a shared document could not be written")
                self._fails = True
            finally:
                self._db._exception_handler = handler

    async def stop(self) -> None:
        await self.flush()
        await super().stop()

    async def _write_soon(self) -> None:
        await self.db_initialized.wait()
        while self._waiting:
            await asyncio.sleep(SOON)
            await self.flush()
            if self._fails:
                return  # until more comes
