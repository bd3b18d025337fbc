"""A sandbox of which the agent only sees functions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional, Union

from .._engine import blocking, engine
from ..errors import ConfigError, Problem
from . import served
from .sandbox import Sandbox
from .served import ServedLibrary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._serving import serving
else:
    serving = blocking


class ScopedSandbox(Sandbox):
    """A sandbox whose agent can call the functions of interface files, and nothing else."""

    _scoped = True

    @serving
    async def serve(
        self, file: Union[str, Path, None] = None, expose_as: str = "library", name: Optional[str] = None,
        options: Optional[dict[str, Any]] = None, *, file_path: Union[str, Path, None] = None,
    ) -> Any:
        """Loads a file in the sandbox and serves its functions to an agent.

        ``file_path`` is another name of ``file``. ``name`` defaults to the stem of the file. By the mode, the result is a
        ServedLibrary (``library``), a dictionary of servers for ``mcpServers`` (``mcp``), the text of the prompt
        (``prompt``), or the paths of the files that were written. A file that cannot be loaded is a
        ServiceError with its traceback.
        """
        given = [f for f in (file, file_path) if f is not None]
        if len(given) != 1:
            raise ConfigError("", [Problem("serve.file", "is given twice, as file_path, too" if given else "is missing")])
        out = served.new_folder()
        got = await engine().call("sandbox.serve", {
            "sandbox": self.sandbox_id, "file": os.path.abspath(given[0]), "name": name or "", "expose_as": expose_as,
            "options": options or {}, "out": out,
        }, self._progress)
        if expose_as == "library":
            served.newest(got["service"], out)
            library = ServedLibrary(got["service"], Path(out), got["functions"] or [], got["prompt"], self.sandbox_id)
            library.interface = got["interface"]
            return library
        if expose_as == "mcp":
            return got.get("mcp_servers") or {}
        if expose_as == "prompt":
            return got["prompt"]
        return [Path(p) for p in got["files"] or ()]
