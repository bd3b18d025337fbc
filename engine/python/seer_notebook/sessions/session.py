"""A session: a notebook, its kernel, and the executions that wait for it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from functools import partial
from typing import Any, Awaitable, Callable, Deque, Dict, List, Optional

from ..errors import Refused
from ..execution.execution import Execution
from ..kernel.kernel import Kernel
from ..kernel.requests import Died
from ..kernel.watch import RESTARTED
from ..settings import Settings
from . import setup_code
from .shows import Shows

INTERRUPT = 10.0  # seconds that an interrupt waits for the end of what runs


class Session(Shows):
    """Everything that is done to it is done one thing after the other by the queue; only an interrupt does not wait."""

    def __init__(self, name: str, service: Any, title: str) -> None:
        super().__init__(service)
        self.id, self.title = name, title
        settings: Settings = service.settings
        self.state, self.message, self.path = "starting", "", ""
        self.kernel = Kernel(service.kernels, service.log, settings.root, service.kernel_env(), self._ended)
        self.execution_count = 0
        self.setup: List[Dict[str, Any]] = []
        self.created = self.last_use = time.time()
        self.jupyter_session = ""
        self.running: Optional[Execution] = None
        self.whole: Optional[Execution] = None  # the run of a whole notebook that running is a part of
        self.queue: Deque[Execution] = deque()
        self.keys: OrderedDict[str, asyncio.Future] = OrderedDict()
        self._wake = asyncio.Event()
        self._worker: Optional[asyncio.Task] = None
        self._control = asyncio.Lock()

    # -- its life

    async def start(self, kernel_id: str = "") -> None:
        """Starts the kernel and runs the set-up. Refused("failed") if either fails; then there is no kernel."""
        async with self._control:
            await self._begin(partial(self.kernel.start, kernel_id), True)

    async def _begin(self, how: Callable[[], Awaitable[None]], setup: bool) -> None:
        while True:
            try:
                await how()
                self.setup = []
                if setup:
                    await self._set_up()
                await self.service.attach(self)
                self.kernel.check()
                if self.state == "closed":
                    await self._fail("the session was closed")
                break
            except Refused:
                raise
            except Exception as e:
                why = str(e)
                if not isinstance(e, (Died, setup_code.Failed)):
                    self.service.log.exception("a kernel could not be started")
                    why = "the kernel could not be started: %s" % e
                if why != RESTARTED and (self.state == "closed" or not await self.kernel.overtaken()):
                    await self._fail(why)
                how, setup = self.kernel.attach, True  # a person was quicker, and gets what a restart gives
        if self._worker is None:
            self._worker = asyncio.ensure_future(self._work())

    async def _set_up(self) -> None:
        def told(results: List[Dict[str, Any]]) -> None:
            self.setup = list(results)

        await setup_code.run(self.kernel, self.service.settings.setup, told)

    async def _fail(self, why: str) -> None:
        try:
            await self.kernel.stop()
        except Exception:
            self.service.log.exception("a kernel could not be shut down")
        if self.state != "closed":
            self.state, self.message = "dead", why
            self.service.store()
        raise Refused("failed", why)

    async def close(self) -> None:
        """Nobody gives it anything, or takes it, from the first moment on."""
        self.state = "closed"
        self.drop_all("the session was closed")
        await self._save()
        await self.kernel.stop()
        runs = [e for e in (self.running, self.whole) if e is not None]  # the worker forgets them as it ends
        for execution in runs:
            execution.interrupt = True
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        for execution in runs:
            self._finish(execution, "dead", note="the session was closed")
        self.show_now()
        if self.document is not None:
            await self.document.close()

    async def _save(self) -> None:
        """Before the kernel ends: a server that ends may have no time left after that, and Jupyter forgets with the kernel which path the
        notebook has now."""
        if self.document is not None:
            self.show_now()
            try:
                await self.document.refresh()
            except Exception:
                self.service.log.exception("a notebook could not be read before its session is closed")
            await self.document.flush()

    async def interrupt(self) -> int:
        """Returns when what runs has ended; when it has not for a while, too: code may go on as it likes. Gives how many were dropped."""
        dropped = self.drop_all("an interrupt came before it ran")
        runs = [e for e in (self.running, self.whole) if e is not None]
        for execution in runs:
            execution.interrupt = True
        await self.kernel.interrupt()
        end = time.monotonic() + INTERRUPT
        while (self.kernel.foreign_busy or self.running in runs or self.whole in runs) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        return dropped

    async def restart(self, setup: bool) -> int:
        """A new kernel in the same notebook. Gives how many cells were dropped."""
        async with self._control:
            self.check_open()  # it may have been closed while this waited
            dropped = len(self.queue)
            await self._again(self.kernel.restart, setup, "the kernel was restarted before it ran")
            return dropped

    async def _again(self, how: Callable[[], Awaitable[None]], setup: bool, why: str) -> None:
        self.state, self.message = "restarting", ""
        self.drop_all(why)
        for execution in (self.running, self.whole):
            if execution is not None:
                execution.interrupt = True
        await self._begin(how, setup)
        self.execution_count = 0
        self.state = "idle" if self.document is not None else "prepared"
        self._wake.set()
        self.service.store()

    async def _ended(self, reason: str) -> None:
        """The kernel is gone. What ran is dead, what waited is dropped; nothing starts again by itself."""
        if self._control.locked() or self.state == "closed":
            return  # whoever starts it learns of it
        if reason == RESTARTED:
            await self._restarted()
            return
        self.service.log.warning("session %s: %s", self.id, reason)
        self.state, self.message = "dead", reason
        self.drop_all(reason)
        self.service.store()

    async def _restarted(self) -> None:
        """A person has restarted the kernel: its set-up is done again."""
        self.service.log.warning("session %s: %s", self.id, RESTARTED)
        async with self._control:
            if self.kernel.alive or self.state == "closed":
                return  # somebody else was quicker
            try:
                await self._again(self.kernel.attach, True, RESTARTED)
            except Refused:
                pass  # the session says why

    # -- what runs

    def check_open(self) -> None:
        """What is given to a session that is being closed would be lost, or make what nobody owns."""
        if self.state == "closed":
            raise Refused("not_found", "the session %s was closed" % self.id)

    def check(self) -> None:
        """Whether there is a kernel that will run something."""
        self.check_open()
        if self.state == "dead":
            why = self.message or "it has no kernel"
            raise Refused("conflict", "the session %s is %s: %s. POST …/restart starts a new kernel" % (self.id, self.state, why))

    def enqueue(self, execution: Execution) -> Execution:
        self.check()
        execution.changed = partial(self._changed, execution)
        execution.updated = self._update
        self.queue.append(execution)
        self._number()
        self.last_use = time.time()
        if execution.cell is not None:
            self.shown[execution.cell] = execution
            self.shown.move_to_end(execution.cell)
        self._wake.set()
        self.service.active()
        self.service.store()
        return execution

    def drop(self, execution: Execution, why: str) -> None:
        if execution in self.queue:
            self.queue.remove(execution)
            self._number()
            self._finish(execution, "dropped", note=why)

    def drop_all(self, why: str) -> int:
        dropped = len(self.queue)
        while self.queue:
            self._finish(self.queue.popleft(), "dropped", note=why)
        return dropped

    @property
    def busy(self) -> bool:
        return self.running is not None or bool(self.queue) or self.kernel.foreign_busy or self.state in ("starting", "restarting")

    def busy_cells(self) -> List[str]:
        current = [self.running] if self.running is not None else []
        return [e.cell for e in [*current, *self.queue] if e.cell] + [c for e in [*current, *self.queue] for c in e.replay]

    def _number(self) -> None:
        """How many each of them waits for."""
        for n, execution in enumerate(self.queue):
            execution.position = n + (self.running is not None)

    async def _work(self) -> None:
        while True:
            if not self.queue or self.state not in ("idle", "busy", "prepared"):
                self._wake.clear()
                await self._wake.wait()
                continue
            if self.kernel.in_other_hands:
                await asyncio.sleep(0.05)
                continue
            execution = self.queue.popleft()
            self.running, self.state = execution, "busy"
            self._number()
            try:
                if execution.replay:
                    await self._replay(execution)
                else:
                    await self._run(execution)
            except Exception as e:
                self.service.log.exception("an execution could not be carried out")
                self._finish(execution, "error", {"ename": type(e).__name__, "evalue": str(e), "traceback": []})
            finally:
                self.running = None
                self.last_use = time.time()
                if self.state == "busy":
                    self.state = "idle" if self.document is not None else "prepared"

    async def _run(self, execution: Execution) -> None:
        execution.begin()
        self.service.store()
        try:
            reply = await self.kernel.run(execution.code, execution.heard, history=not execution.hidden)
        except Died as e:
            said = "%s; the cell did not end, and all variables are gone" % e
            # So that the notebook says it.
            execution.heard("error", {"ename": "KernelDied", "evalue": said, "traceback": ["KernelDied: " + said]})
            self._finish(execution, "dead", note=str(e))
            await asyncio.sleep(0)  # the session learns of it, too
            return
        if reply.get("execution_count") is not None and not execution.hidden:
            self.execution_count = max(self.execution_count, int(reply["execution_count"]))
        if reply.get("status") == "ok":
            self._finish(execution, "done")
            return
        error = {k: reply.get(k) or ([] if k == "traceback" else "") for k in ("ename", "evalue", "traceback")}
        interrupted = execution.interrupt or error["ename"] == "KeyboardInterrupt" or reply.get("status") == "aborted"
        self._finish(execution, "interrupted" if interrupted else "error", error)

    async def _replay(self, whole: Execution) -> None:
        """Runs the cells of a notebook again, one that fails no less than the others."""
        whole.begin()
        self.whole = whole
        whole.restored = {"cells": 0, "errors": []}
        for name in whole.replay:
            if whole.interrupt or not self.kernel.alive or self.document is None:
                break
            try:
                cell = self.document.cell(name)
            except KeyError:
                continue
            part = self.service.execution(self, name, str(cell["source"]))
            part.changed, part.updated = partial(self._changed, part), self._update
            part.log.tell = partial(_pass_on, whole, name)
            self.shown[name] = part
            self.running = part
            whole.log.add("note", 50, text="cell %d of %d" % (whole.restored["cells"] + 1, len(whole.replay)), cell=name)
            await self._run(part)
            self.running = whole
            whole.interrupt = whole.interrupt or part.interrupt or part.state == "interrupted"
            whole.restored["cells"] += 1
            if part.state != "done":
                error = part.error or {"ename": part.state, "evalue": self.message, "traceback": []}
                ids = self.document.ids()
                whole.restored["errors"].append({"cell": name, "index": ids.index(name) if name in ids else None,
                                                 "ename": error["ename"], "evalue": error["evalue"]})
        self.whole = None
        state = "dead" if not self.kernel.alive else "interrupted" if whole.interrupt else "done"
        whole.replay = whole.replay if state == "done" else []
        self._finish(whole, state)

    def _finish(self, execution: Execution, state: str, error: Optional[Dict[str, Any]] = None, note: str = "") -> None:
        execution.end(state, error, note)
        self.show_now()
        self.service.ended(execution)


def _pass_on(whole: Execution, cell: str, kind: str, size: int, fields: Dict[str, Any]) -> None:
    """What one cell says is said by the run of the whole notebook as well."""
    whole.log.add(kind, size, **{**fields, "cell": cell})
