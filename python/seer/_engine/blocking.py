"""Methods and functions in two forms: ``x.start()`` waits, ``await x.start.aio()`` does not block
the loop."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Awaitable, Callable, Coroutine, Generic, Optional, TypeVar

from . import loop

T = TypeVar("T")


def _awaited(work: Coroutine[Any, Any, T]) -> Awaitable[T]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work.close()
        raise RuntimeError("aio needs a running event loop: await it in a coroutine, or call without .aio") from None
    return asyncio.wrap_future(loop.submit(work))


class Call(Generic[T]):
    """A method of an object. Call it, or await its ``aio``."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, T]], of: Any):
        self._work, self._of = work, of
        functools.update_wrapper(self, work)

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return loop.wait(self._work(self._of, *args, **kwargs))

    def aio(self, *args: Any, **kwargs: Any) -> Awaitable[T]:
        """The same as a coroutine of the caller's own loop."""
        return _awaited(self._work(self._of, *args, **kwargs))


class blocking(Generic[T]):
    """Makes a method or a function of a coroutine function: see the module."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, T]]):
        self._work = work
        functools.update_wrapper(self, work)

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return loop.wait(self._work(*args, **kwargs))

    def aio(self, *args: Any, **kwargs: Any) -> Awaitable[T]:
        """The same as a coroutine of the caller's own loop."""
        return _awaited(self._work(*args, **kwargs))

    def __get__(self, of: Any, owner: Optional[type] = None) -> Call[T]:
        return Call(self._work, of if of is not None else owner)
