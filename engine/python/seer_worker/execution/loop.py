"""The event loops of async functions. One for the life of the worker, so that what they keep stays usable."""

import asyncio
import threading
from contextlib import suppress
from typing import Any, Callable, Coroutine, List, Optional, Set, Tuple

from ..process import context

_LOOK = 0.05  # seconds


class Loop:
    """In the main thread, where no function is async and runs beside others."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs it to its end. What it started in the background goes on during the next call of an async function."""
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # interrupted from outside of it
                task.cancel()
                self._loop.run_until_complete(asyncio.wait([task]))
            raise


class LoopThread:
    """In a thread of its own, for all async functions of an interface that has some which run beside others."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: Set[Any] = set()
        threading.Thread(target=self._loop.run_forever, name="seer-loop", daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs it to its end, from another thread. An interrupt there cancels it, and comes out once it has ended: what runs in turn
        must not meet the next call."""
        tasks: List[Any] = []
        ended, scope = threading.Event(), context.current()

        def begin() -> None:
            tasks.append(self._loop.create_task(_outcome(coroutine, scope)))
            tasks[0].add_done_callback(lambda task: ended.set())

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # the interrupt came before it could begin
                ended.set()

        try:
            self._call(begin)
            _wait(ended)
        except BaseException:
            while not ended.is_set():
                with suppress(BaseException):  # another interrupt comes where the coroutine has swallowed the first one
                    self._call(cancel)
                    _wait(ended)
            raise
        value, error = tasks.pop().result()
        try:
            if error is not None:
                raise error
            return value
        finally:
            del error  # whose traceback leads here

    def begin(self, make: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Callable[[], None]:
        """Begins a task soon, and gives what cancels it."""
        tasks: List[Any] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(make(*args)))
            self._tasks.add(tasks[0])  # the loop itself does not keep it alive
            tasks[0].add_done_callback(self._tasks.discard)

        self._loop.call_soon_threadsafe(begin)
        return lambda: self._call(lambda: tasks[0].cancel())

    def _call(self, function: Callable[[], Any]) -> None:
        self._loop.call_soon_threadsafe(function)


def _wait(event: threading.Event) -> None:
    """Python interrupts a thread other than the main one only between two waits."""
    limit = None if threading.current_thread() is threading.main_thread() else _LOOK
    while not event.wait(limit):
        pass


async def _outcome(coroutine: Coroutine[Any, Any, Any], scope: Optional[context.Scope]) -> Tuple[Any, Optional[BaseException]]:
    """What it returns or raises: SystemExit would end the loop if it came out of a task."""
    token = context.enter(scope) if scope is not None else None
    try:
        return await coroutine, None
    except BaseException as e:
        return None, e
    finally:
        if token is not None:
            context.leave(token)


class Loops:
    """Runs coroutines where they belong; a loop is made when the first one comes."""

    def __init__(self) -> None:
        self.shared = False  # the interface has async functions that run beside others
        self._own: Optional[Loop] = None
        self._thread: Optional[LoopThread] = None
        self._lock = threading.Lock()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """To its end, for a function that is not among the tasks."""
        if self.shared or threading.current_thread() is not threading.main_thread():
            return self.thread().run(coroutine)
        if self._own is None:
            self._own = Loop()
        return self._own.run(coroutine)

    def thread(self) -> LoopThread:
        """The loop that runs by itself."""
        with self._lock:
            if self._thread is None:
                self._thread = LoopThread()
            return self._thread
