"""Makes the service a part of a Jupyter server."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_server.utils import url_path_join

from ..http import follow, handlers
from ..sessions.service import Service
from . import renew, setup

ROUTES = [
    (r"", handlers.Root),
    (r"/sessions", handlers.Sessions),
    (r"/sessions/([^/]+)", handlers.One),
    (r"/sessions/([^/]+)/notebook", handlers.Notebook),
    (r"/sessions/([^/]+)/cells", handlers.Cells),
    (r"/sessions/([^/]+)/cells/([^/]+)", handlers.Cell),
    (r"/sessions/([^/]+)/cells/([^/]+)/run", handlers.Run),
    (r"/sessions/([^/]+)/cells/([^/]+)/move", handlers.Move),
    (r"/sessions/([^/]+)/interrupt", handlers.Interrupt),
    (r"/sessions/([^/]+)/restart", handlers.Restart),
    (r"/sessions/([^/]+)/variables", handlers.Variables),
    (r"/executions/([^/]+)", follow.One),
    (r"/executions/([^/]+)/events", follow.Events),
    (r"/executions/([^/]+)/text", follow.Text),
    (r"/renew", renew.Renew),
    (r"/setup", setup.SetUp),
    (r"/.*", handlers.Missing),
]
ACTIVITY = 5.0


def load(app: Any) -> None:
    """Called by the server while it starts, before it listens."""
    service = Service(app, app.seer_settings, app.seer_private)
    app.web_app.settings["seer_notebook"] = service
    app.seer_service = service
    prefix = url_path_join(app.web_app.settings["base_url"], "seer/v1")
    app.web_app.add_handlers(".*$", [(prefix + path, handler) for path, handler in ROUTES])


async def keep_awake(service: Service) -> None:
    """Says that the sandbox is in use for as long as something runs."""
    while True:
        if service.busy():
            service.active()
        await asyncio.sleep(ACTIVITY)
