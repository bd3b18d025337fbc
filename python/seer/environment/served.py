"""What is served, as a module of this program."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

from ..workspace import Library

_lock = threading.RLock()
_folder: Optional[tuple[int, str]] = None  # and the process that has made it
_newest: dict[str, str] = {}  # folder with the newest module of each name


def new_folder() -> str:
    """A folder for one result of ``serve``. It ends with this process."""
    global _folder
    with _lock:
        if _folder is None or _folder[0] != os.getpid():
            _folder = os.getpid(), tempfile.mkdtemp(prefix="seer-")
            atexit.register(_remove, *_folder)
        return tempfile.mkdtemp(dir=_folder[1])


def _remove(process: int, folder: str) -> None:
    if os.getpid() == process:  # and not a fork of it
        shutil.rmtree(folder, True)


def newest(name: str, folder: str) -> None:
    """Has ``import NAME`` find the module of this folder, in the place of those served before."""
    with _lock:
        before = _newest.get(name)
        if before in sys.path:
            sys.path.remove(before)
        sys.path.insert(0, folder)
        _newest[name] = folder
        if _generated(sys.modules.get(name)):
            _taken(name)
        importlib.invalidate_caches()


def _generated(module: Optional[ModuleType]) -> bool:
    """Whether Seer has written the module."""
    folder = os.path.dirname(getattr(module, "__file__", None) or "")
    return bool(folder) and all(os.path.isfile(os.path.join(folder, n)) for n in ("_client.py", "connection.json"))


def _taken(name: str) -> dict[str, ModuleType]:
    """Takes a module and its submodules out of sys.modules."""
    return {n: sys.modules.pop(n) for n in list(sys.modules) if n == name or n.startswith(name + ".")}


def _imported(name: str, folder: str) -> ModuleType:
    """The module of this folder. ``import NAME`` finds it afterwards if it is the newest one and
    the program has not imported another module of the name itself."""
    with _lock:
        found = sys.modules.get(name)
        if found is not None and os.path.dirname(getattr(found, "__file__", None) or "") == os.path.join(folder, name):
            return found
        others = _taken(name)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(folder)
            if others or _newest.get(name) != folder:
                _taken(name)
                sys.modules.update(others)


class ServedLibrary(Library):
    """The functions of an interface, as a module that can be imported.

    ``library.f(1)`` and ``import NAME; NAME.f(1)`` call the same function in the sandbox. If you
    serve a name again, ``import NAME`` loads the newest module. Modules that you imported before,
    and the libraries that ``serve`` returned before, still call their own sandbox.
    """

    interface: Any  #: the functions with their types and texts, as JSON has them

    def __init__(self, name: str, path: Path, functions: list[str], prompt: str, sandbox: str):
        super().__init__(path / name, name, prompt)
        self.path = path  #: folder that has the module
        self.functions = functions
        self.prompt = prompt  #: text for the agent's prompt
        self._module, self._served = name, sandbox
        self._loaded: Optional[ModuleType] = None

    @property
    def module(self) -> ModuleType:
        """The module, imported."""
        if self._loaded is None:
            self._loaded = _imported(self._module, str(self.path))
        return self._loaded

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what displays an object asks for many such names
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.module, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"<ServedLibrary {self.name}: {', '.join(self.functions)}>"

    def _repr_html_(self) -> str:
        from .._engine import html

        said = {f["name"]: f.get("doc") or "" for f in self.interface["functions"]}
        rows = [(f"{name}()", said.get(name, "").split("\n")[0] or "no text") for name in self.functions]
        return html.table(("Library", self.name), ("Sandbox", self._served), *rows)
