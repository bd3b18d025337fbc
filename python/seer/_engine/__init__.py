"""The engine's process, and the thread that speaks to it."""

from __future__ import annotations

from .blocking import blocking, blocking_class, blocking_self, blocking_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .process import Engine

__all__ = ["blocking", "blocking_class", "blocking_self", "blocking_session", "engine"]


def engine() -> Engine:
    """The engine of this process."""
    from . import process  # when it is needed: it imports asyncio

    return process.engine()
