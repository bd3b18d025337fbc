"""A sandbox of which the agent only sees functions."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, Optional, Union

from .._engine import blocking, engine
from ..workspace import Library
from .sandbox import Sandbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._serving import serving
else:
    serving = blocking

_folder: Optional[str] = None


def _out() -> str:
    """The folder of this process for what is served. It ends with the process."""
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="seer-")
        atexit.register(shutil.rmtree, _folder, True)
    return _folder


class ServedLibrary(Library):
    """The functions of an interface, as a module that can be imported.

    ``library.f(1)`` and ``import NAME; NAME.f(1)`` call the same function in the sandbox.
    """

    interface: Any  #: the functions with their types and texts, as JSON has them

    def __init__(self, name: str, path: Path, functions: list[str], prompt: str, sandbox: str):
        super().__init__(path / name, name, prompt)
        self.path = path  #: folder that has the module
        self.functions = functions
        self.prompt = prompt  #: text for the agent's prompt
        self._module, self._served = name, sandbox

    @property
    def module(self) -> ModuleType:
        """The module, imported."""
        return importlib.import_module(self._module)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.module, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"<ServedLibrary {self.name}: {', '.join(self.functions)}>"


class ScopedSandbox(Sandbox):
    """A sandbox whose agent can call the functions of interface files, and nothing else."""

    _scoped = True

    @serving
    async def serve(
        self, file: Union[str, Path], expose_as: str = "library", name: Optional[str] = None,
        options: Optional[dict[str, Any]] = None,
    ) -> Any:
        """Loads a file in the sandbox and serves its functions to an agent.

        ``name`` defaults to the stem of the file. By the mode, the result is a
        ServedLibrary (``library``), a dictionary of servers for ``mcpServers`` (``mcp``), the text of the prompt
        (``prompt``), or the paths of the files that were written. A file that cannot be loaded is a
        ServiceError with its traceback.
        """
        path = os.path.abspath(file)
        out = os.path.join(_out(), self.sandbox_id)
        got = await engine().call("sandbox.serve", {
            "sandbox": self.sandbox_id, "file": path, "name": name or "", "expose_as": expose_as, "options": options or {}, "out": out,
        }, self._progress)
        if expose_as == "library":
            if out not in sys.path:
                sys.path.insert(0, out)
            importlib.invalidate_caches()
            library = ServedLibrary(got["service"], Path(out), got["functions"] or [], got["prompt"], self.sandbox_id)
            library.interface = got["interface"]
            return library
        if expose_as == "mcp":
            return got.get("mcp_servers") or {}
        if expose_as == "prompt":
            return got["prompt"]
        return [Path(p) for p in got["files"] or ()]
