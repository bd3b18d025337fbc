"""The open sessions of a context.

``run_agent`` without a session uses the one that was created in the caller's context: the same
thread, and the same task or one that started it. Contexts do not share sessions, so an agent of
one task never works in the session of another.

A kernel of Jupyter runs each cell that awaits in a task of its own. There, the sessions of all
contexts count.
"""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from ..errors import Error
from .display import kernel


class Session(Protocol):
    """What an agent's program needs of a session of any kind."""

    @property
    def name(self) -> str:
        """The session's name, for people."""

    @property
    def workspace_dir(self) -> Path:
        """The folder of this computer in which the program starts."""

    @property
    def mcp_config(self) -> dict[str, Any]:
        """The MCP servers of the session by their names, as in ``mcpServers``."""

    @property
    def prompt(self) -> str:
        """What the agent is told of the session."""

    @property
    def env(self) -> dict[str, str]:
        """Variables that the program needs."""

    @property
    def closed(self) -> bool:
        """The session was closed, or its sandbox has ended."""


_created: ContextVar[tuple[Session, ...]] = ContextVar("seer_sessions", default=())
_of_kernel: list[Session] = []


def add(session: Session) -> None:
    """Notes a session that was created in the caller's context."""
    if kernel() is None:
        _created.set((*_open(), session))
    else:
        _of_kernel[:] = [*_open(), session]


def current() -> Session:
    """The one open session of the caller's context. None and several are errors."""
    found = _open()
    if not found:
        raise Error(
            "no session is open in this context: create one here, such as with create_local_session(),"
            " or pass it as session=", "not_found",
        )
    if len(found) > 1:
        names = ", ".join(s.name for s in found)
        raise Error(
            f"{len(found)} sessions are open in this context ({names}): pass one as session=, or close the others",
            "conflict",
        )
    return found[0]


def _open() -> tuple[Session, ...]:
    created = _created.get() if kernel() is None else tuple(_of_kernel)
    return tuple(s for s in created if not s.closed)
