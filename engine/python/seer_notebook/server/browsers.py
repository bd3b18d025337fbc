"""Loads what only browsers need when the first of them comes: agents, who ask for nothing but the service, do not wait for it."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any, Awaitable, Callable, Dict, List, Optional

from tornado import httputil

from . import assets

# Extensions → what of theirs takes long to import. jupyter_lsp also looks for language servers when it is loaded, with npm.
LATER = {"jupyter_lsp": "jupyter_lsp.serverextension", "jupyterlab": "jupyterlab.labapp", "notebook_shim": "notebook_shim.nbserver"}
SERVICE = "seer/v1"


def take(extensions: Dict[str, bool]) -> List[str]:
    """Takes those that can wait out of the extensions of a server that is starting."""
    return [name for name in LATER if extensions.pop(name, False)]


class Browsers:
    """The extensions that wait, and the requests that wait for them."""

    def __init__(self, app: Any, names: List[str], load: Callable[[Callable[[], None]], None]) -> None:
        """load runs what it is given while the server has the path that its routes are made with."""
        self._app, self._names, self._with_routes = app, names, load
        self._loading: Optional[asyncio.Future] = None
        self._there = not names

    def needed(self, rest: str) -> bool:
        """Whether a request has to wait: everything but the service may be of an extension, or lead to one."""
        return not self._there and rest != SERVICE and not rest.startswith(SERVICE + "/")

    async def come(self) -> None:
        """Returns when they are loaded, or the log has why they cannot be."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._load())
        await asyncio.shield(self._loading)

    async def _load(self) -> None:
        loop = asyncio.get_running_loop()
        assets.find(self._app.config)
        for name in self._names:  # in a thread: a cold disk takes long, and cells run meanwhile
            try:
                await loop.run_in_executor(None, importlib.import_module, LATER[name])
            except Exception:
                self._app.log.debug("%s cannot be imported", name, exc_info=True)  # and is tried again, and said
        manager = self._app.extension_manager
        before = set(manager.extensions)
        try:
            self._with_routes(lambda: self._link(manager, before))
            for name in set(manager.extensions) - before:
                if hasattr(manager, "start_extension"):  # jupyter_server 2.15
                    await manager.start_extension(name)
        except Exception:
            self._app.log.exception("JupyterLab could not be loaded")
        finally:
            self._there = True

    def _link(self, manager: Any, before: set) -> None:
        """As the server does with the others while it starts; one may bring more with it."""
        for name in self._names:
            if manager.add_extension(name, enabled=True):
                manager.link_extension(name)
        for name in manager.sorted_extensions:
            if name not in before:
                manager.load_extension(name)


class Waiting(httputil.HTTPMessageDelegate):
    """A request whose handler is found when the extensions are there; nothing of it is lost, nor read, before."""

    def __init__(self, ready: Callable[[], Awaitable[None]], find: Callable[[], Any]) -> None:
        self._ready, self._find = ready, find
        self._found: Any = None

    async def headers_received(self, start_line: Any, headers: httputil.HTTPHeaders) -> None:
        await self._ready()
        self._found = self._find()
        more = self._found.headers_received(start_line, headers)
        if more is not None:
            await more

    def data_received(self, chunk: bytes) -> Any:
        return self._found.data_received(chunk)

    def finish(self) -> None:
        self._found.finish()

    def on_connection_close(self) -> None:
        if self._found is not None:
            self._found.on_connection_close()
