"""What the notebook of a session shows of its executions, and when."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, Dict, Optional

from ..document.document import Document
from ..execution.execution import Execution

SHOW = 0.2  # seconds between two looks at the outputs of a running cell


class Shows:
    """The part of a session that writes outputs into its notebook."""

    id = state = message = ""
    running: Optional[Execution] = None

    def __init__(self, service: Any) -> None:
        self.service = service
        self.document: Optional[Document] = None
        self.shown: OrderedDict[str, Execution] = OrderedDict()  # of each cell, what it shows
        self._show_dirty: Dict[str, Execution] = {}
        self._shower: Optional[asyncio.Task] = None

    def _update(self, content: Dict[str, Any]) -> None:
        """A display is changed wherever it is shown."""
        for execution in self.shown.values():
            execution.on_update(content)

    def _changed(self, execution: Execution) -> None:
        if execution.cell is None or self.document is None:
            return
        self._show_dirty[execution.cell] = execution
        if self._shower is None or self._shower.done():
            self._shower = asyncio.ensure_future(self._show_soon())

    async def _show_soon(self) -> None:
        while self._show_dirty:
            self.show_now()
            await asyncio.sleep(SHOW)

    def show_now(self) -> None:
        if self.document is None:
            return
        dirty, self._show_dirty = self._show_dirty, {}
        for cell, execution in dirty.items():
            if self.shown.get(cell) is execution:
                running = execution.state == "running"
                self.document.show(cell, execution.outputs.items, execution.execution_count, running)

    def saved(self, problem: str) -> None:
        """What became of saving the notebook."""
        if problem:
            self.service.log.error("session %s: %s", self.id, problem)
            if self.running is not None and problem != self.message:
                self.running.note(problem)
        if self.state != "dead":
            self.message = problem
