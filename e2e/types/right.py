from __future__ import annotations

import asyncio

import typed
from typed import CallError, Handle, PendingCall, add, count, move, names, options, pick

total: int = add(1) + add(1, b=3)
words: str = pick("left", times=2)
lengths: dict[str, int] = names(["a", "bc"])
items: list[int] = [i + 1 for i in count(3)]
corner: float = move({"x": 1.0, "y": 2.0})["x"]
whatever = typed.anything([1, None])

pending: PendingCall[int] = add.submit(1, 2)
later: int = pending.result(10)
again: PendingCall[int] = typed.attach(pending.id)
kept: Handle = names.handle(["a"])
there: str = repr(kept.shape)


async def soon() -> int:
    return await add.aio(1)


with options(timeout=5, output=False):
    value: int = asyncio.run(soon())
try:
    add(1)
except CallError as e:
    code: str = e.code
