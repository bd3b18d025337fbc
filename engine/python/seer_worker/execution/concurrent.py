"""Runs calls beside others: in threads, as tasks, or in passing."""

import inspect
import threading
import time
from typing import Any, Callable, Optional

from ..calls.calls import Call
from ..calls.queues import CallQueue, Table
from ..calls.scheduler import Scheduler
from ..process import context
from ..process.threads import Pool, ThreadInterrupts
from .batches import Batches
from .loop import LoopThread
from .runner import Runner
from .streams import NoInterrupts

_HAND_OVER = 0.02  # seconds that what is to run in passing waits for the main thread
_STAND_IN = 0.5  # the same of what runs in turn, while something runs there in passing
_FOREVER = 60.0


class ConcurrentRunner:
    """Begins a call of a queue when there is room in it, and after it the next one."""

    def __init__(self, scheduler: Scheduler, table: Table, runner: Runner, batches: Batches, loop: Callable[[], LoopThread]) -> None:
        self._scheduler, self._table, self._runner, self._batches, self._loop = scheduler, table, runner, batches, loop
        self._pool = Pool()
        self._main = threading.get_ident()
        self._passing: Optional[Call] = None  # what the main thread runs in passing
        self.stands_in = False  # another thread gives turns in place of the main one, which waits until it has ended

    def start(self, call: Call, queue: CallQueue) -> None:
        """With the lock; the call has its place among the running ones of the queue."""
        function = self._table.functions.get(call.fn)
        if function is not None and function.options.batch:
            self._pool.run(self._batch, call, queue)
        elif function is not None and function.options.is_async:
            self._loop().begin(self._task, call, queue)
        elif queue.brief and threading.get_ident() == self._main:  # which is at the poller just now
            self._scheduler.inline.append(call)  # it runs when everything that has come has been read
        else:
            self._pool.run(self._thread, call, queue)

    def held_up(self, seconds: float) -> float:
        """With the lock: the main thread has been inside what it does for so long. Tells when to look again.

        What it wanted to run in passing gets threads. What it runs in passing itself may be waiting for a call that has to have
        its turn first: those have their turns in another thread then.
        """
        again = _FOREVER
        if self._scheduler.inline:
            if seconds < _HAND_OVER:
                again = _HAND_OVER - seconds
            else:
                self._hand_over()
        if self._passing is not None and self._scheduler.waiting and not self.stands_in:
            if seconds < _STAND_IN:
                again = min(again, _STAND_IN - seconds)
            else:
                self.stands_in = True
                self._passing.queue.distrust()
                self._pool.run(self._stand_in)
        return again

    def _hand_over(self) -> None:
        while self._scheduler.inline:
            call = self._scheduler.inline.popleft()
            self._pool.run(self._thread, call, call.queue)

    def _stand_in(self) -> None:
        """Gives turns until the main thread can."""
        scheduler, table = self._scheduler, self._table
        while True:
            with scheduler.lock:
                call = scheduler.waiting.pop() if self._passing is not None else None
                if call is None:
                    self.stands_in = False
                    break
                scheduler.begin(call)
            function = table.functions.get(call.fn)
            if function is not None and function.options.batch:
                self._batches.beside(call, scheduler.waiting)
            else:
                self._runner.perform(call, ThreadInterrupts())
        scheduler.poke()

    def in_passing(self, call: Call, interrupts: Any) -> None:
        """In the main thread."""
        self._passing = call
        try:
            self._runner.perform(call, interrupts)
        finally:
            self._leave(call, call.queue)

    def _thread(self, call: Call, queue: CallQueue) -> None:
        current: Optional[Call] = call
        while current is not None:
            try:
                self._runner.perform(current, ThreadInterrupts())
            except BaseException:  # a fault of the worker, not of the call
                self._leave(current, queue)
                raise
            with self._scheduler.lock:
                current = self._following(current, queue)

    def _batch(self, call: Call, queue: CallQueue) -> None:
        current: Optional[Call] = call
        while current is not None:
            try:
                self._batches.beside(current, queue.waiting)
            except BaseException:
                self._leave(current, queue)
                raise
            with self._scheduler.lock:
                current = self._following(current, queue)

    async def _task(self, call: Call, queue: CallQueue) -> None:
        current: Optional[Call] = call
        while current is not None:
            try:
                await self._perform(current)
            except BaseException:
                self._leave(current, queue)
                raise
            if current.reason:  # its cancel may reach this task only now, and would end the call that runs here then
                self._leave(current, queue)
                return
            with self._scheduler.lock:
                current = self._following(current, queue)

    async def _perform(self, call: Call) -> None:
        import asyncio  # only interfaces with functions that are async get here
        runner, task = self._runner, asyncio.current_task()
        loop = asyncio.get_running_loop()
        token = runner.open(call, lambda reason: _cancel(loop, task))
        try:
            prepared = runner.prepare(call)
            runner.admit(call, prepared)
            result: Any = prepared.function.call(*prepared.args, **prepared.kwargs)
            if inspect.isasyncgen(result):
                await runner.streams.asynchronous(call, result, NoInterrupts())
                result = None
            elif inspect.isawaitable(result):
                result = await result
            encoded = runner.encode(call, result)
        except BaseException as e:
            runner.same_process()
            context.leave(token)
            runner.fail(call, e)
        else:
            runner.same_process()
            context.leave(token)
            runner.answer(call, encoded)

    def _leave(self, call: Call, queue: CallQueue) -> None:
        """After a run: the next call of its queue begins, but not in this thread or task."""
        with self._scheduler.lock:
            if self._passing is call:
                self._passing = None
            following = self._following(call, queue)
            if following is not None:
                self.start(following, queue)

    def _following(self, call: Call, queue: CallQueue) -> Optional[Call]:
        """After a run: the next call of its queue, if one waits. With the lock."""
        queue.ran(time.monotonic() - call.began)
        if queue.running <= queue.limit:
            following = queue.waiting.pop()
            if following is not None:
                self._scheduler.begin(following)
                return following
        queue.running -= 1
        return None


def _cancel(loop: Any, task: Any) -> None:
    loop.call_soon_threadsafe(task.cancel)
