"""What is asked of a kernel, and what it says about it."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Callable, Dict, Optional

EARLY = 1.0  # seconds


class Died(Exception):
    """The kernel ended while something was asked of it; the text says how."""


class Request:
    """What the kernel says about one request: heard gets its messages; done holds the content of the reply."""

    def __init__(self, heard: Callable[[str, Dict[str, Any]], None]) -> None:
        self.heard = heard
        self.done: asyncio.Future = asyncio.get_running_loop().create_future()
        self.reply: Optional[Dict[str, Any]] = None
        self.idle = False
        self.begun: Optional[float] = None  # when its code was known to run, by the monotonic clock
        self.interrupted = False  # before that

    @property
    def early(self) -> bool:
        """Whether an interrupt can be lost: the kernel says that it begins before it runs the first line."""
        return self.begun is None or time.monotonic() - self.begun < EARLY

    def settle(self) -> None:
        if self.reply is not None and self.idle and not self.done.done():
            self.done.set_result(self.reply)
