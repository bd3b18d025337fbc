"""The engine's process: one for each process of Python, started when it is first needed."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import itertools
import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import errors
from .._version import __version__
from . import display, loop

if TYPE_CHECKING:
    from . import wire

PROTOCOL = 1
LONGEST_LINE = 1 << 28  # bytes of a message
ENDING = 90  # seconds that the process has to end; it gives its sandboxes 60
LAST_WORDS = 20  # lines of the engine's standard error that an exception has


def program() -> str:
    """The engine's program: $SEER_PROGRAM, the one in this package, or seer in the PATH."""
    named = os.environ.get("SEER_PROGRAM")
    if named:
        return named
    inside = Path(__file__).parent.parent / "_bin" / "seer"
    if inside.is_file():
        return str(inside)
    found = shutil.which("seer")
    if found:
        return found
    raise errors.EngineError(
        "the program seer is missing: it is neither in this package nor in the PATH; install the"
        " wheel for this system, or set SEER_PROGRAM to the program"
    )


class Engine:
    """One process and the requests that wait for it. All methods run on the thread of loop."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._events: dict[str, Callable[[wire.Progress], None]] = {}
        self._process: Optional[asyncio.subprocess.Process] = None
        self._starting: Optional[asyncio.Task[None]] = None
        self._said: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.call: wire.Calls = self._call

    async def _call(self, method: str, params: Any = None, event: Optional[wire.Event] = None) -> Any:
        await self._ready()
        if event is not None:
            return await self._request(method, params, lambda p: event(p["event"], p["text"]))
        shown = display.new()
        if shown is None:
            return await self._request(method, params, None)
        succeeded = False
        try:
            got = await self._request(method, params, shown.event)
            succeeded = True
            return got
        finally:
            shown.end(succeeded)

    async def close(self) -> None:
        """Ends the process, which terminates the sandboxes that were not detached."""
        process, self._process, self._starting = self._process, None, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), ENDING)
        except asyncio.TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            print(
                f"seer: the engine did not end within {ENDING} s and was killed; sandboxes that run on end within a minute",
                file=sys.stderr,
            )

    def leave(self) -> None:
        """Closes the pipes in a child that was forked, so that the process ends with the parent
        alone. The loop is the parent's, too: nothing may change what it waits for."""
        transport = getattr(self._process, "_transport", None)
        if transport is None:
            return
        for number in range(3):
            pipe = transport.get_pipe_transport(number)
            file = pipe.get_extra_info("pipe") if pipe is not None else None
            if file is not None:
                file.close()
                pipe._pipe = None  # or the end of the object would have the loop forget it
        transport._closed = True  # or that of the object would kill the process

    async def _ready(self) -> None:
        if self._process is not None and self._process.returncode is not None:
            self._starting = None  # it was killed: the next request starts another one
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        starting = self._starting
        try:
            await asyncio.shield(starting)
        except errors.Error:
            if self._starting is starting:
                self._starting = None  # the next request tries again
            raise

    async def _start(self) -> None:
        name = program()
        try:
            self._process = await asyncio.create_subprocess_exec(
                name, "engine", "--stdio", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for Python, which then cancels
            )
        except OSError as e:
            raise errors.EngineError(f"the engine cannot be started: {name}: {e.strerror}") from None
        self._waiting = {}  # those that wait for a process before this one get its error
        self._tasks = [
            asyncio.ensure_future(self._read(self._process, self._waiting)), asyncio.ensure_future(self._listen(self._process)),
        ]
        hello: wire.InitializeParams = {"protocol": PROTOCOL, "client": "python " + __version__}
        try:
            await self._request("initialize", hello, None)
        except errors.UnsupportedError as e:
            self._process.stdin.close()  # type: ignore[union-attr] # it is a pipe
            raise errors.EngineError(f"{e} (the program is {name}; SEER_PROGRAM names another one)") from None

    async def _request(self, method: str, params: Any, event: Optional[Callable[[wire.Progress], None]]) -> Any:
        process = self._process
        if process is None or process.stdin is None:
            raise errors.EngineError("the engine has ended")
        number = next(self._ids)
        waiting = self._waiting
        answer = waiting[number] = asyncio.get_running_loop().create_future()
        if event is not None:
            context, hears = contextvars.copy_context(), event  # of the caller: a notebook's output belongs to it
            self._events[str(number)] = lambda p: context.run(hears, p)
        try:
            await self._send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
            try:
                return await asyncio.shield(answer)
            except asyncio.CancelledError:
                cancel: wire.CancelParams = {"request": str(number)}
                await self._send(process, {"jsonrpc": "2.0", "method": "cancel", "params": cancel})
                await asyncio.wait([answer], timeout=60)
                raise
        finally:
            waiting.pop(number, None)
            self._events.pop(str(number), None)

    async def _send(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        assert process.stdin is not None
        try:
            line = json.dumps(message, allow_nan=False)
        except (TypeError, ValueError) as e:
            raise errors.ConfigError(f"{message['method']}: a value cannot be sent to the engine: {e}") from None
        try:
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
        except (ConnectionError, RuntimeError):
            if process is self._process:
                self._starting = None  # its end may be seen later: the next request starts another one
            raise self._ended() from None

    async def _read(self, process: asyncio.subprocess.Process, answers: dict[int, asyncio.Future[Any]]) -> None:
        assert process.stdout is not None
        unread = ""
        try:
            async for line in process.stdout:
                self._hear(json.loads(line), answers)
        except Exception as e:  # without an end of the process, every request would wait forever
            unread = f"its answer cannot be read: {type(e).__name__}: {e}"
            process.kill()
        await process.wait()
        for waiting in answers.values():
            if not waiting.done():
                waiting.set_exception(errors.EngineError(f"the engine was ended: {unread}") if unread else self._ended())
                waiting.exception()

    def _hear(self, message: dict[str, Any], answers: dict[int, asyncio.Future[Any]]) -> None:
        if message.get("method") == "event":
            self._tell(message["params"])
            return
        waiting = answers.get(message.get("id", -1))
        if waiting is None or waiting.done():
            return
        if "error" in message:
            error = message["error"]
            waiting.set_exception(errors.of_answer(error["message"], error.get("data")))
            waiting.exception()  # nobody may be left to hear it
        else:
            waiting.set_result(message["result"])

    def _tell(self, params: wire.Progress) -> None:
        event = self._events.get(params["request"])
        if event is None:
            return
        try:
            event(params)
        except Exception as e:  # of the caller's own function: the work goes on
            print(f"seer: progress: {e!r}", file=sys.stderr)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self._said = [*self._said, line.decode(errors="replace").rstrip()][-LAST_WORDS:]

    def _ended(self) -> errors.EngineError:
        said = "\n".join(self._said)
        return errors.EngineError("the engine ended in the middle of the work" + (": " + said if said else ""))


_engine: Optional[Engine] = None
_parents: list[Engine] = []  # the end of such an object would touch the parent's loop


def engine() -> Engine:
    """The engine of this process."""
    global _engine
    if _engine is None:
        _engine = Engine()
    return _engine


def _at_exit() -> None:
    if _engine is not None:
        loop.wait(_engine.close())


def _after_fork() -> None:
    global _engine
    if _engine is not None:
        _engine.leave()
        _parents.append(_engine)
    _engine = None


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
