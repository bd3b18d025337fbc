"""The thread on which this package waits.

It has an event loop of its own, so that synchronous methods work inside a running loop of the
caller, as in a notebook, and no loop is nested.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import Future
from typing import Any, Coroutine, Optional, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loop: Optional[asyncio.AbstractEventLoop] = None


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Starts work on the thread."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_loop.run_forever, name="seer", daemon=True)
            thread.start()
        return asyncio.run_coroutine_threadsafe(work, _loop)


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Does work on the thread and waits for it.

    Ctrl-C cancels the work, waits until that is done, and is then raised.
    """
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        if not future.done():
            _cancel(future)
        raise


def _cancel(future: Future[Any]) -> None:
    future.cancel()
    ended = threading.Event()
    # The task ends after its future: what it does then runs on the loop before this.
    submit(_set(ended))
    ended.wait(60)


async def _set(event: threading.Event) -> None:
    for _ in range(3):
        await asyncio.sleep(0)
    event.set()


def _after_fork() -> None:
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
