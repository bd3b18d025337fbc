"""One kernel: it is started through Jupyter's own manager, asked over channels that stay open, and watched."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple

import zmq
from jupyter_client.utils import ensure_async
from jupyter_server._tz import utcnow

from . import messages
from .processes import began
from .requests import Died, Request
from .watch import Watched

READY = 300.0  # seconds: a cold disk under a large environment
AGAIN = (0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between interrupts of code that has just begun
# A kernel drops what is not fetched as fast as it prints. Its socket belongs to a thread of its own.
KEEP_ALL = ("(lambda thread: thread.schedule(lambda: thread.socket.setsockopt(__import__('zmq').SNDHWM, 0)))"
            "(get_ipython().kernel.iopub_thread)")


class Kernel(Watched):
    """The kernel of a session. ended is called once with the reason when it is gone without having been asked to."""

    def __init__(self, manager: Any, log: Any, cwd: str, env: Mapping[str, str], ended: Callable[[str], Awaitable[None]]) -> None:
        super().__init__(manager, ended)
        self._log, self._cwd, self._env = log, cwd, dict(env)
        self.name = "python3"
        self.foreign_busy = False  # somebody else's code runs in it, a browser's
        self._client: Any = None
        self._requests: Dict[str, Request] = {}
        self._began = (0, "")  # the process, and when
        self._counter = messages.Counter()

    @property
    def pid(self) -> int:
        return int(getattr(self._process, "pid", 0) or 0)

    @property
    def begin(self) -> str:
        if self._began[0] != self.pid:
            self._began = (self.pid, began(self.pid))
        return self._began[1]

    async def start(self, kernel_id: str = "") -> None:
        """Starts it, under an id that it had before if there is one, and returns when it answers."""
        more = {"kernel_id": kernel_id} if kernel_id and kernel_id not in self._manager else {}
        self.id = await ensure_async(self._manager.start_kernel(kernel_name=self.name, cwd=self._cwd, env=dict(self._env), **more))
        await self._connect()

    async def restart(self) -> None:
        """A new process in the place of the old one; browsers stay connected."""
        if not self.alive or self.id not in self._manager:
            await self.stop()
            await self.start(self.id)
            return
        self._disconnect("it was restarted")
        await self._left_alone()
        await ensure_async(self._manager.restart_kernel(self.id, now=True))
        await self._connect()

    async def attach(self) -> None:
        """After somebody else has restarted it: returns when it answers."""
        await self._connect()

    async def stop(self) -> None:
        self._disconnect("it was shut down")
        await self._left_alone()
        if self.id and self.id in self._manager:
            await ensure_async(self._manager.shutdown_kernel(self.id, now=True))

    async def interrupt(self) -> None:
        if self.alive and self.id in self._manager:
            early = [request for request in self._requests.values() if request.early]
            for request in early:
                request.interrupted = request.begun is None
            await self._signal()
            for request in early:
                if request.begun is not None:
                    self._tasks.append(asyncio.ensure_future(self._interrupt_again(request)))

    async def _signal(self) -> None:
        await ensure_async(self._manager.interrupt_kernel(self.id))
        if self.alive:
            self._tasks.append(asyncio.ensure_future(self._sweep(list(self._requests.values()))))

    async def _interrupt_again(self, request: Request) -> None:
        """An interrupt that came before the code ran, or as it began, may not have met it."""
        for pause in AGAIN:
            await asyncio.sleep(pause)  # or it has, and the answer is on its way
            if request.done.done() or not self.alive or self.id not in self._manager:
                return
            await self._signal()

    async def _sweep(self, before: List[Request]) -> None:
        """An interrupt that comes while a kernel takes a request lets it forget to answer. It answers in order: what
        it has not answered before a later request, it never will."""
        sent, request = self._ask(self._client.kernel_info())
        try:
            await request.done
        except Died:
            return
        finally:
            self._requests.pop(sent, None)
        for lost in before:
            lost.reply = lost.reply or {"status": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []}
            lost.idle = True
            lost.settle()

    def check(self) -> None:
        """Raises Died if there is nothing that would run code."""
        if not self.alive or self._ends:
            raise Died(self._end)

    async def run(self, code: str, heard: Callable[[str, Dict[str, Any]], None], silent: bool = False, history: bool = True,
                  expressions: Optional[Dict[str, str]] = None) -> Dict[str, Any]:
        """Runs code and gives the content of the reply when everything that it printed has been heard. Raises Died."""
        self.check()
        sent, request = self._ask(self._client.execute(code, silent=silent, store_history=history and not silent,
                                                       user_expressions=expressions or {}, allow_stdin=False, stop_on_error=False), heard)
        try:
            return await request.done
        finally:
            self._requests.pop(sent, None)

    def _ask(self, sent: str, heard: Callable[[str, Dict[str, Any]], None] = lambda kind, content: None) -> Tuple[str, Request]:
        """Takes note of a request that was just sent. ZeroMQ says once that there is something to read, and says it to
        whoever uses the socket next: if that was the sending, nobody would wake for the answer."""
        self._client.shell_channel.socket.get(zmq.EVENTS)
        request = self._requests[sent] = Request(heard)
        return sent, request

    async def _connect(self) -> None:
        self._end = "the kernel is dead"
        km = self._manager.get_kernel(self.id)
        self._process = getattr(km.provisioner, "process", None)
        self._client = km.client()
        self._manager.stop_watching_activity(self.id)  # it would hold all output a second time
        context = self._client.context
        before = context.getsockopt(zmq.RCVHWM) if zmq.RCVHWM in getattr(context, "sockopts", {}) else 1000
        context.setsockopt(zmq.RCVHWM, 0)  # a kernel drops what nobody takes: better that it waits here
        context.setsockopt(zmq.RECONNECT_IVL, 20)  # milliseconds: it does not listen yet
        try:
            self._client.start_channels(hb=False)
        finally:
            context.setsockopt(zmq.RCVHWM, before)
            context.setsockopt(zmq.RECONNECT_IVL, 100)  # as it is by itself
        self.alive, self.foreign_busy, self._ends = True, False, False
        self._tasks = [asyncio.ensure_future(t) for t in (self._hear_iopub(self._client), self._hear_shell(self._client), self._watch())]
        try:
            await asyncio.wait_for(self._answers(), READY)
            await self.run(KEEP_ALL, lambda kind, content: None, silent=True)
            self._told("idle")
        except asyncio.TimeoutError:
            await self.stop()
            raise Died("the kernel was started and has not answered in %d seconds" % READY) from None

    async def _answers(self) -> None:
        """Returns when a request has been answered on both channels: from then on no message is missed."""
        while self.alive:
            sent, request = self._ask(self._client.kernel_info())
            try:
                for _ in range(10):
                    await asyncio.wait([request.done], timeout=0.1)
                    if request.done.done():
                        await request.done
                        return
                    if request.reply is not None:
                        break  # the subscription may have been later than the message: once more
            finally:
                if not request.done.done():
                    request.done.cancel()
                self._requests.pop(sent, None)
        raise Died(self._end)

    async def _hear_iopub(self, client: Any) -> None:
        while True:
            frames = await client.iopub_channel.socket.recv_multipart(copy=False)
            try:
                for message in messages.read(client.session, frames):
                    self._take(message)
                    await asyncio.sleep(0)  # others are served between the pieces of a long text
            except Exception:
                self._log.exception("a message of the kernel could not be used")

    def _take(self, message: Dict[str, Any]) -> None:
        self._heard += 1
        parent = message.get("parent_header") or {}
        kind, content = message["header"]["msg_type"], message["content"]
        request = self._requests.get(parent.get("msg_id", ""))
        missing = self._counter.missing(message["header"])
        if missing and request is not None:
            request.heard("lost", {"count": missing})
        if kind == "status" and parent.get("msg_type") == "execute_request":
            self._told(str(content.get("execution_state")))
        if request is None:
            if kind == "status" and parent.get("msg_type") == "execute_request":
                self.foreign_busy = content.get("execution_state") == "busy"
        elif kind == "status":
            request.idle = request.idle or content.get("execution_state") == "idle"
            request.settle()
        else:
            if kind == "execute_input" and request.begun is None:
                request.begun = time.monotonic()
                if request.interrupted:
                    self._tasks.append(asyncio.ensure_future(self._interrupt_again(request)))
            request.heard(kind, content)

    def _told(self, state: str) -> None:
        """For Jupyter's list of kernels, which a browser shows."""
        if self.id in self._manager:
            km = self._manager.get_kernel(self.id)
            km.execution_state, km.last_activity = state, utcnow()

    async def _hear_shell(self, client: Any) -> None:
        while True:
            message = await client.get_shell_msg(timeout=None)
            request = self._requests.get((message.get("parent_header") or {}).get("msg_id", ""))
            if request is not None:
                request.reply = message["content"]
                request.settle()

    def _disconnect(self, reason: str) -> None:
        super()._disconnect(reason)
        self.foreign_busy = False
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
        for request in self._requests.values():
            if not request.done.done():
                request.done.set_exception(Died(reason))
                request.done.exception()  # it may be that nobody waits
        self._requests.clear()
