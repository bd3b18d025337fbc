"""The requests about executions: what they are, what they say, all that they have printed."""

from __future__ import annotations

import asyncio
import json

from tornado.iostream import StreamClosedError

from .handler import Handler, answers
from .handlers import LONGEST, WAIT, described

PIECE = 1 << 20


class One(Handler):
    @answers
    async def get(self, name: str) -> None:
        self.say(described(self.service.find(name)))

    @answers
    async def delete(self, name: str) -> None:
        execution = self.service.find(name)
        await self.service.cancel(execution)
        self.say(described(execution))


class Events(Handler):
    @answers
    async def get(self, name: str) -> None:
        execution = self.service.find(name)
        n = max(self.number("from", 1), 1)
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self.number("wait", WAIT, False), LONGEST)
        self.set_header("Content-Type", "application/x-ndjson")
        self.set_header("X-Accel-Buffering", "no")
        await self.flush()
        while True:
            for event in execution.log.since(n):
                self.write(json.dumps(event) + "\n")
                n = event["n"] + 1
                if event["t"] == "end":
                    self.finish()
                    return
                if self._write_buffer and sum(map(len, self._write_buffer)) > PIECE:
                    await self.flush()
            await self.flush()
            if execution.log.count < n and execution.log.closed:
                break
            if not await execution.log.wait(n, max(0.0, end - loop.time())):
                break
        self.finish(json.dumps({"n": n - 1, "t": "waiting"}) + "\n")

    def on_connection_close(self) -> None:
        """Whoever listened is gone; the execution goes on."""


class Text(Handler):
    @answers
    async def get(self, name: str) -> None:
        spool = self.service.find(name).spool
        offset, limit = self.number("offset", 0), self.number("limit", 1 << 62)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Seer-Size", str(spool.kept))
        end = min(spool.kept, offset + limit)
        while offset < end:
            piece = spool.read(offset, min(PIECE, end - offset))
            if not piece:
                break
            self.write(piece)
            offset += len(piece)
            try:
                await self.flush()
            except StreamClosedError:
                return
        self.finish()
