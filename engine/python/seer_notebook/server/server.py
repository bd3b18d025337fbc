"""The Jupyter server that the supervisor starts: its configuration, our extension, the socket that is given to it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib.util
import os
import socket
import sys
from typing import Any, List

from jupyter_server.serverapp import ServerApp
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from traitlets.config import Config

from .. import settings as settings_module
from ..kernel.processes import end_with_parent
from . import base_path, browsers, places, renew, starting
from .extension import keep_awake


class Kernels(AsyncMappingKernelManager):  # type: ignore[misc]
    """Also knows those that have died: a person may restart them in the browser."""

    def _handle_kernel_died(self, kernel_id: str) -> None:
        self.log.warning("the kernel %s has died", kernel_id)


class Server(ServerApp):  # type: ignore[misc]
    """Listens on a socket that is open already, and keeps its kernels as they are: none is restarted unasked."""

    name = "jupyter-server"
    seer_settings: Any = None
    seer_private = ""
    seer_socket: Any = None
    seer_service: Any = None
    seer_tasks: List[Any] = []
    seer_later: List[str] = []

    def find_server_extensions(self) -> None:
        super().find_server_extensions()
        with contextlib.suppress(OSError):  # who needs it will say so
            os.makedirs(self.data_dir, 0o700, exist_ok=True)  # extensions keep files there, and JupyterLab is who makes it
        self.seer_later = browsers.take(self.jpserver_extensions)

    def _find_http_port(self) -> None:
        """It is known."""

    def _bind_http_server_tcp(self) -> bool:
        loop = asyncio.get_event_loop()
        self.seer_tasks = [loop.create_task(self._begin())]
        return True

    async def _begin(self) -> None:
        """Nobody is answered before what was there before a restart is known again."""
        await self.seer_service.restore()
        self.http_server.add_sockets([self.seer_socket])
        self.log.info("the notebook service answers at %sseer/v1", self.base_url)
        self.seer_tasks.append(asyncio.ensure_future(keep_awake(self.seer_service)))

    async def _cleanup(self) -> None:
        try:
            await asyncio.wait_for(self.seer_service.stop(), 4)
        except Exception:
            self.log.exception("the notebooks could not be closed")
        await super()._cleanup()


def configured(s: settings_module.Settings, port: int, private: str) -> Config:
    c = Config()
    c.ServerApp.ip, c.ServerApp.port, c.ServerApp.port_retries = s.ip, port, 0
    c.ServerApp.base_url, c.ServerApp.root_dir = s.base_url, s.root
    c.ServerApp.tornado_settings = {"headers": dict(base_path.HEADERS)}
    c.ServerApp.allow_root, c.ServerApp.allow_remote_access, c.ServerApp.open_browser = True, True, False
    c.ServerApp.quit_button = False
    c.ServerApp.kernel_manager_class = Kernels
    c.IdentityProvider.token = s.token
    c.IdentityProvider.cookie_options = dict(base_path.COOKIES)
    c.NotebookNotary.db_file = ":memory:"  # where this user's own notebooks are signed, those of agents are not
    c.NotebookNotary.secret_file = os.path.join(private, "notebook_secret")
    c.PasswordIdentityProvider.hashed_password = ""
    c.ServerApp.jpserver_extensions = {"seer_notebook": True}
    c.ServerApp.terminals_enabled = s.lab
    c.ServerApp.default_url = "/lab" if s.lab else "/seer/v1"
    c.ServerApp.max_body_size = c.ServerApp.max_buffer_size = 512 << 20
    c.KernelRestarter.restart_limit = 0  # a kernel that has died is said to be dead, to browsers, too
    c.ZMQChannelsWebsocketConnection.limit_rate = False
    c.MappingKernelManager.cull_idle_timeout = 0
    c.MappingKernelManager.buffer_offline_messages = False  # the service hears everything: nobody has to remember it
    c.YDocExtension.document_cleanup_delay = None  # a notebook of ours is open for as long as its session
    c.YDocExtension.document_save_delay = 0.5
    places.configure(c, private)
    c.ServerApp.cookie_secret_file = os.path.join(private, renew.COOKIES)
    return c


def main(socket_fd: int, private: str, parent: int) -> None:
    end_with_parent(parent)
    s = settings_module.parse(sys.stdin.buffer.read())
    s = renew.kept(private, s)
    if importlib.util.find_spec("jupyterlab") is None:  # agents need none
        s = dataclasses.replace(s, lab=False)
    places.search()
    sys.stdin = open(os.devnull, encoding="utf-8")
    listening = socket.socket(fileno=socket_fd)
    listening.setblocking(False)
    os.set_inheritable(socket_fd, False)
    os.chdir(s.root)
    config = configured(s, listening.getsockname()[1], private)
    sockets = places.sockets(private)
    if sockets:
        config.KernelManager.transport = "ipc"
    app = Server.instance(config=config)
    app.runtime_dir = sockets or app.runtime_dir
    app.seer_settings, app.seer_private, app.seer_socket = s, private, listening
    app.initialize(argv=[], find_extensions=s.lab)
    starting.prepare(app)
    app.log.setLevel(app.log_level)  # every message is made otherwise, and then thrown away
    app.web_app.settings["seer_base_path"] = base_path.BasePath(app)
    app.start()
