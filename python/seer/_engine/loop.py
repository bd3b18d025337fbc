"""The thread on which this package waits.

It has an event loop of its own, so that synchronous methods work inside a running loop of the
caller, as in a notebook, and no loop is nested.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Coroutine, Optional, TypeVar

from ..errors import Error

T = TypeVar("T")

_lock = threading.Lock()
_loop: Optional[asyncio.AbstractEventLoop] = None
_thread: Optional[threading.Thread] = None

CANCELLED = 60  # seconds that work has to end after it was cancelled


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Starts work on the thread."""
    global _loop, _thread
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="seer", daemon=True)
            _thread.start()
        return asyncio.run_coroutine_threadsafe(work, _loop)


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Does work on the thread and waits for it.

    Ctrl-C cancels the work, waits until that is done, and is then raised. A second one is raised
    at once.
    """
    if threading.current_thread() is _thread:
        work.close()
        raise Error("a function that hears of progress cannot wait for other work; note what it heard, and act on it later", "conflict")
    tasks: list[asyncio.Task[T]] = []
    future = submit(_noted(work, tasks))
    try:
        return future.result()
    except BaseException:
        if not future.done():
            submit(_cancel(tasks))
            with suppress(CancelledError, Exception):
                future.result(CANCELLED)
        raise


async def _noted(work: Coroutine[Any, Any, T], tasks: list[asyncio.Task[T]]) -> T:
    tasks.append(asyncio.ensure_future(work))
    return await tasks[0]


async def _cancel(tasks: list[asyncio.Task[T]]) -> None:
    # A future of another thread would count as ended before its work has.
    while not tasks:
        await asyncio.sleep(0)
    tasks[0].cancel()


def _after_fork() -> None:
    global _loop, _lock, _thread
    _loop, _thread, _lock = None, None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
