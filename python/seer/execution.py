"""Sessions: the ways in which an agent uses a sandbox.

    sandbox = Sandbox(config).start()
    session = create_notebook_session(sandbox, Workspace(libraries=["helpers.py"]))

A session brings the workspace into the running sandbox, and loads the models there. Each function
also has the form ``await create_notebook_session.aio(…)``.
"""

from __future__ import annotations

import html
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypeVar

from ._engine import blocking, blocking_session, engine
from ._fields import PathLike
from .environment.sandbox import Sandbox
from .errors import ConfigError, NotFoundError, Problem
from .workspace import Workspace

if TYPE_CHECKING:
    from ._engine import wire

__all__ = [
    "CLISession",
    "LocalSession",
    "NotebookSession",
    "Session",
    "create_cli_session",
    "create_local_session",
    "create_notebook_session",
]

S = TypeVar("S", bound="Session")


class Session:
    """A session. It ends with its sandbox, with ``close``, or with its ``with`` block."""

    kind = ""

    def __init__(self, made: wire.Opened, sandbox: Optional[Sandbox], workspace_dir: Path):
        self.name = made["name"]  #: unique in the sandbox
        self.sandbox = sandbox
        self.workspace_dir = workspace_dir  #: folder of this computer in which the agent's program starts
        self.prompt = made["prompt"]  #: text for the agent's prompt
        self.mcp_config: dict[str, Any] = dict(made.get("mcp_servers") or {})  #: as in mcpServers
        self.env: dict[str, str] = dict(made.get("env") or {})  #: variables of the agent's program
        self._key_file = made.get("key_file", "")
        self._closed = False

    @property
    def closed(self) -> bool:
        """The session was closed, or its sandbox was terminated by this program."""
        return self._closed or (self.sandbox is not None and self.sandbox._info["state"] == "stopped")

    @blocking
    async def close(self) -> None:
        """Ends the session. The sandbox, its files and its variables stay. It may be called again."""
        if not self.closed and self.sandbox is not None:
            with suppress(NotFoundError):  # the sandbox has ended
                await engine().call("session.end", {"sandbox": self.sandbox.sandbox_id, "name": self.name})
        if self._key_file:
            with suppress(FileNotFoundError):
                os.unlink(self._key_file)
        self._closed = True

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close.aio()

    def __repr__(self) -> str:
        where = f" in {self.sandbox.sandbox_id}" if self.sandbox is not None else ""
        return f"<{type(self).__name__} {self.name}{where}{', closed' if self.closed else ''}>"

    def _repr_html_(self) -> str:
        return html.escape(repr(self))


class NotebookSession(Session):
    """An agent works in the notebooks of a sandbox."""

    kind = "notebook"

    def __init__(self, made: wire.Opened, sandbox: Optional[Sandbox], workspace_dir: Path):
        super().__init__(made, sandbox, workspace_dir)
        self.jupyter_url: Optional[str] = made.get("jupyter_url") or None  #: with its token; None if only the engine reaches it

    def _repr_html_(self) -> str:
        if self.jupyter_url is None:
            return super()._repr_html_()
        return f'{html.escape(repr(self))} <a href="{html.escape(self.jupyter_url)}" target="_blank">Jupyter</a>'


class CLISession(Session):
    """An agent works with the commands and files of a sandbox."""

    kind = "cli"


class LocalSession(Session):
    """An agent works in a folder of this computer, and calls what is served to it."""

    kind = "local"


@blocking_session
async def create_notebook_session(
    sandbox: Sandbox, workspace: Optional[Workspace] = None, workspace_dir: Optional[PathLike] = None, name: Optional[str] = None,
) -> NotebookSession:
    """A session in a sandbox of ``ExecutionMode.NOTEBOOK``.

    It brings the workspace, and prepares a kernel with the models loaded; further kernels have them,
    too. ``workspace_dir`` is the folder of the agent's program on this computer, by default
    ``workspace/SANDBOX``; copies of the notebooks are in its ``outputs``.
    """
    return await _inside(NotebookSession, sandbox, workspace, workspace_dir, name)


@blocking_session
async def create_cli_session(
    sandbox: Sandbox, workspace: Optional[Workspace] = None, workspace_dir: Optional[PathLike] = None, name: Optional[str] = None,
) -> CLISession:
    """A session in a sandbox of ``ExecutionMode.CLI``: commands, files, and a Python that keeps its
    variables, with the models loaded."""
    return await _inside(CLISession, sandbox, workspace, workspace_dir, name)


@blocking_session
async def create_local_session(
    workspace: Optional[Workspace] = None, workspace_dir: Optional[PathLike] = None, name: Optional[str] = None,
) -> LocalSession:
    """A session on this computer, without a sandbox: the workspace is put into ``workspace_dir``.

    The functions of a ScopedSandbox are a part of the workspace: ``Workspace([scoped.serve(…)])``.
    ``workspace_dir`` is by default ``workspace`` in the working folder, or ``workspace/NAME``.
    """
    folder = _folder(workspace_dir, *([name] if name else []))
    made = await engine().call("session.new", {
        "kind": "local", "name": name or "", "dir": str(folder), "workspace": _checked(workspace)._wire(True),
    })
    return LocalSession(made, None, folder)


async def _inside(
    kind: type[S], sandbox: Sandbox, workspace: Optional[Workspace], workspace_dir: Optional[PathLike], name: Optional[str],
) -> S:
    if not isinstance(sandbox, Sandbox):
        raise ConfigError("", [Problem("sandbox", f"must be a Sandbox, not {type(sandbox).__name__}")])
    folder = _folder(workspace_dir, sandbox.sandbox_id, *([name] if name else []))
    made = await engine().call("session.new", {
        "sandbox": sandbox.sandbox_id, "kind": kind.kind, "name": name or "", "dir": str(folder),
        "workspace": _checked(workspace)._wire(False),
    }, sandbox._progress)
    return kind(made, sandbox, folder)


def _checked(workspace: Optional[Workspace]) -> Workspace:
    if workspace is None:
        return Workspace()
    if not isinstance(workspace, Workspace):
        raise ConfigError("", [Problem("workspace", f"must be a Workspace, not {type(workspace).__name__}")])
    return workspace


def _folder(given: Optional[PathLike], *parts: str) -> Path:
    return Path(os.path.abspath(given)) if given is not None else Path.cwd().joinpath("workspace", *parts)
