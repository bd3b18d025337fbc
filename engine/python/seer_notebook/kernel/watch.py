"""Looks after the process of a kernel, which a browser may restart or shut down at any moment."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List

from .processes import died_of

WATCH = 0.5
RESTART = 20.0  # seconds that a restart by somebody else may have no process
LAST_WORDS = 10.0  # seconds: a process that was killed may have said much
RESTARTED = "the kernel was restarted in the browser"


class Watched:
    """The part of a kernel that knows whether its process is there, and whose it is."""

    def __init__(self, manager: Any, ended: Callable[[str], Awaitable[None]]) -> None:
        self._manager, self._ended = manager, ended
        self.id = ""
        self.alive = False
        self._process: Any = None
        self._tasks: List[asyncio.Task] = []
        self._heard = 0  # messages of it
        self._ends = False  # its process has ended, and what it said last is heard
        self._end = "the kernel is dead"  # why it is not alive
        self._look = asyncio.Event()

    def _disconnect(self, reason: str) -> None:
        """Nobody listens to it any more, or looks after it."""
        self.alive, self._end = False, reason
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    @property
    def in_other_hands(self) -> bool:
        """Somebody restarts it or shuts it down just now, or has, and it is not noticed yet."""
        km = self._manager.get_kernel(self.id) if self.id in self._manager else None
        if km is None:
            return False
        now = getattr(km.provisioner, "process", None)
        return getattr(km, "shutting_down", False) or not km.ready.done() or self.alive and now is not self._process

    async def _left_alone(self) -> None:
        """Waits while Jupyter is about to restart it: it refuses whatever else is asked of it meanwhile, or fails."""
        end = asyncio.get_running_loop().time() + RESTART
        while self.in_other_hands and asyncio.get_running_loop().time() < end:
            self.look()
            await asyncio.sleep(0.05)

    async def overtaken(self) -> bool:
        """Whether somebody else has restarted it, or does, which interrupts what runs."""
        await self._left_alone()
        return not self.alive and self._end == RESTARTED

    def look(self) -> None:
        """Somebody has done something to it: what, is looked after at once."""
        self._look.set()

    async def _watch(self) -> None:
        """Looks after the process. A browser may restart the kernel: then there is another one, and that is said, too."""
        process, loop = self._process, asyncio.get_running_loop()
        patience, dead = loop.time() + RESTART, False
        while True:
            try:
                await asyncio.wait_for(self._look.wait(), WATCH)
            except asyncio.TimeoutError:
                pass
            self._look.clear()
            if asyncio.current_task() not in self._tasks:
                return  # the cancelling was lost: it met the look
            if process is not None and process.poll() is None:
                patience = loop.time() + RESTART
            km = self._manager.get_kernel(self.id) if self.id in self._manager else None
            now = getattr(km.provisioner, "process", None) if km is not None and km.provisioner is not None else None
            if now is not None and now is not process and now.poll() is None:
                reason = RESTARTED
            elif dead and km is None:
                return
            elif dead:
                continue  # a dead kernel, too, may be restarted in the browser
            elif process is not None and process.poll() is None and km is not None:
                continue
            elif km is not None and (getattr(km, "shutting_down", False) or not km.ready.done()) and loop.time() < patience:
                continue  # somebody restarts it, of which starting is the second half, or shuts it down
            elif process is not None and process.returncode is not None and km is not None:
                reason = died_of(process.returncode)
            else:
                ended = process is not None and process.poll()
                reason = died_of(process.returncode) if ended else "the kernel was shut down in the browser"
            if reason is not RESTARTED:
                self._ends, self._end, dead = True, reason, True
                await self._last_words()
            self._tasks = [t for t in self._tasks if t is not asyncio.current_task()]
            self._disconnect(reason)
            await self._ended(reason)
            if reason is RESTARTED:
                return
            self._tasks.append(asyncio.current_task())

    async def _last_words(self) -> None:
        """Hears what the process said before it ended, which may still be on its way."""
        end = asyncio.get_running_loop().time() + LAST_WORDS
        heard = -1
        while heard != self._heard and asyncio.get_running_loop().time() < end:
            heard = self._heard
            await asyncio.sleep(0.1)
