"""Requests whose events are taken one by one."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Optional

from .process import engine

if TYPE_CHECKING:
    from . import wire

ACKNOWLEDGED = 100  # events of output at a time; the engine waits after 1000
OUTPUT = ("agent.output", "agent.error_output", "agent.update")  # the types of these


class AgentRun:
    """An agent that runs. Its methods run on the thread of loop."""

    def __init__(self, params: wire.AgentParams):
        self._stream = uuid.uuid4().hex
        self._params: wire.AgentParams = {**params, "stream": self._stream}
        self._events: asyncio.Queue[Optional[dict[str, Any]]]  # of next: Python 3.9 gives it the loop of this thread
        self._work: Optional[asyncio.Task[Any]] = None
        self._outputs = 0
        self.result: Optional[wire.AgentResult] = None  #: None = the agent has not ended

    async def next(self) -> Optional[dict[str, Any]]:
        """The next event, or None when the agent has ended. Its error is raised then."""
        if self._work is None:
            self._events = asyncio.Queue()
            self._work = asyncio.ensure_future(engine().call("agent.run", self._params, self._hear))
            self._work.add_done_callback(lambda _: self._events.put_nowait(None))
        event = await self._events.get()
        if event is None:
            self._events.put_nowait(None)  # for one who asks again
            self.result = await self._work
        elif event["type"] in OUTPUT:
            self._outputs += 1
            if self._outputs == ACKNOWLEDGED:
                self._outputs = 0
                await engine().call("agent.acknowledge", {"stream": self._stream, "lines": ACKNOWLEDGED})
        return event

    async def stop(self) -> None:
        """Asks the agent to stop, and returns when it has ended."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait([self._work])

    def _hear(self, event: dict[str, Any], text: str) -> None:
        self._events.put_nowait({**event, "text": text})
