"""A request that is repeated with the same key is carried out once."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Optional, OrderedDict

KEPT = 1000
Keys = OrderedDict[str, "asyncio.Future[Any]"]  # what was begun for each key, the oldest first


async def once(keys: Keys, key: Optional[str], do: Callable[[], Awaitable[Any]]) -> Any:
    """What do gives, or gave for that key. One that was refused may be tried again."""
    if not key:
        return await do()
    if key in keys:
        return await asyncio.shield(keys[key])
    future = keys[key] = asyncio.ensure_future(do())
    while len(keys) > KEPT:
        keys.popitem(last=False)
    try:
        return await asyncio.shield(future)
    except BaseException:
        if future.done() and (future.cancelled() or future.exception() is not None):
            keys.pop(key, None)
        raise
