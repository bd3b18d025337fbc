"""A request that is repeated with the same key is carried out once."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Optional

from .session import Session

KEPT = 1000


async def once(session: Session, key: Optional[str], do: Callable[[], Awaitable[Any]]) -> Any:
    """What do gives, or gave for that key. One that was refused may be tried again."""
    if not key:
        return await do()
    if key in session.keys:
        return await asyncio.shield(session.keys[key])
    future = session.keys[key] = asyncio.ensure_future(do())
    while len(session.keys) > KEPT:
        session.keys.popitem(last=False)
    try:
        return await asyncio.shield(future)
    except BaseException:
        if future.done() and (future.cancelled() or future.exception() is not None):
            session.keys.pop(key, None)
        raise
