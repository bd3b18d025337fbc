"""Generators, whose items leave one after the other, and what a call prints."""

import threading
from functools import partial
from typing import Any, AsyncGenerator, Callable, Generator, Sequence

from ..calls.calls import ENDED, Call
from ..calls.delivery import Delivery, framed
from ..calls.queues import Table
from ..calls.scheduler import Scheduler
from ..journal.journal import Journal
from ..transport.frames import ONE_PIECE
from .answers import body_of, in_memory

Encode = Callable[[Call, Any], Any]


class NoInterrupts:
    """For code that nothing interrupts from outside, such as a task."""

    def outside(self, call: object, function: Callable[..., Any], *args: Any) -> Any:
        """Just runs it."""
        return function(*args)


class Streams:
    """Turns what comes while a call runs into its events."""

    def __init__(self, scheduler: Scheduler, journal: Journal, delivery: Delivery, table: Table, encode: Encode) -> None:
        self._scheduler, self._journal, self._delivery, self._table, self._encode = scheduler, journal, delivery, table, encode

    def sync(self, call: Call, generator: "Generator[Any, Any, Any]", interrupts: Any) -> Any:
        """Sends what it yields, and gives what it returns."""
        try:
            while True:
                try:
                    item = next(generator)
                except StopIteration as e:
                    return e.value
                encoded = self._encode(call, item)
                del item
                if not interrupts.outside(call, self._item, call, encoded):
                    self._wait(call)
        finally:
            generator.close()

    async def asynchronous(self, call: Call, generator: "AsyncGenerator[Any, Any]", interrupts: Any) -> None:
        """The same on an event loop, which goes on while the generator is held."""
        try:
            async for item in generator:
                encoded = self._encode(call, item)
                del item
                if not interrupts.outside(call, self._item, call, encoded):
                    await self._wait_async(call)
        finally:
            await generator.aclose()

    def _item(self, call: Call, encoded: Any) -> bool:
        """Whether there is room for more."""
        body, borrowed = body_of(call, encoded, self._table.alone)
        size = len(body) if isinstance(body, bytes) else sum(map(len, body))
        with self._order(call):
            n = call.last + 1
            header = self._journal.item(call.id, n, body, encoded.tagged)
            if borrowed and in_memory(self._journal, call.id):
                body, borrowed = b"".join(body), False
                self._journal.keep(call.id, n, body)
            parts = framed(header, body)
            if borrowed and size <= ONE_PIECE:
                parts = [b"".join(parts)]
            with self._scheduler.lock:
                if call.state == ENDED:
                    return True
                call.last = n
                call.items.append((n, size))
                call.ahead += size
                for connection in self._delivery.event(call, "item", parts, borrowed):
                    connection.own()
                    self._delivery.watch(connection)
                return call.has_room()

    def printed(self, calls: Sequence[Call], stream: int, text: str) -> None:
        """What the run of the calls has written."""
        for call in calls:
            # With the lock also while it is written: one call of a batch may be answered at any moment, which takes a number, too.
            with self._order(call), self._scheduler.lock:
                if call.state == ENDED:
                    continue
                n = call.last + 1
                header = self._journal.output(call.id, n, stream, text)
                call.last = n
                self._delivery.event(call, "output", framed(header, text.encode("utf-8", "replace")))

    def _order(self, call: Call) -> threading.Lock:
        """Events are numbered, written and sent one at a time."""
        if call.order is None:
            with self._scheduler.lock:
                if call.order is None:
                    call.order = threading.Lock()
        return call.order

    def _wait(self, call: Call) -> None:
        """Until there is room, or the call is interrupted."""
        event = threading.Event()
        with self._scheduler.lock:
            call.room = event.set
            if call.has_room() or call.reason:
                event.set()
        event.wait()
        call.room = None

    async def _wait_async(self, call: Call) -> None:
        import asyncio  # it is there already, where there is a generator that needs it
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        with self._scheduler.lock:
            call.room = partial(loop.call_soon_threadsafe, event.set)
            if call.has_room():
                event.set()
        await event.wait()
        call.room = None


