"""The path under which everything of this server is, which is a secret of its own.

Browsers send a cookie to every port of a host, but only to the paths that it is for. So the
pages of other sandboxes, which have other ports of the same computer, are not sent the cookies
of this one while they do not know its path: whoever does not name it is not told it either.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any, Callable

from tornado import httputil, web

from . import browsers

HEADERS = {"Referrer-Policy": "same-origin"}
COOKIES = {"samesite": "Strict", "httponly": True}
BROKEN = ("favicon.ico", "robots.txt")  # jupyter_server's route of them has no folder: it drops the connection


class Nothing(web.RequestHandler):
    """What all other paths lead to: Jupyter's own page of this kind has links with the path."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")

    def check_xsrf_cookie(self) -> None:
        """There is nothing to protect."""

    def prepare(self) -> None:
        self.set_status(404)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("There is nothing here: the whole jupyter_url is needed, with its path.\n")


def own_host(base: str) -> str:
    """The name that a browser of this computer should use: an origin, and a jar of cookies, of this server alone. Go's
    notebook.OwnOrigin makes the same."""
    return "seer-%s.localhost" % hashlib.sha256(b"seer page " + base.encode()).hexdigest()[:32]


def leads_elsewhere(host: str, base: str) -> bool:
    """Whether a name in Host is not this server's: somebody's domain that was made to lead here, or the page of another sandbox."""
    name = host.lower().rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() else host.lower()
    if "." not in name or name == own_host(base):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return True
    return False


class BasePath:
    """Lets nothing in that has not the path, which can become another one, or that comes by another one's name."""

    def __init__(self, app: Any) -> None:
        self._app, self._web = app, app.web_app
        self._find = self._web.find_handler
        self._made = str(app.base_url)  # the one in the routes
        self._here = app.seer_settings.ip.startswith("127.") or app.seer_settings.ip in ("::1", "localhost")
        self.base = self._made
        self._browsers = browsers.Browsers(app, app.seer_later, self._at_first)
        self._web.find_handler = self._lead

    def move(self, base: str) -> None:
        """From now on base is the path, and the one before leads nowhere."""
        before, self.base = self.base, base
        self._app.base_url = base
        settings = self._web.settings
        moved(settings, before, base)
        settings["static_immutable_cache"] = [moved(path, before, base) for path in settings.get("static_immutable_cache", [])]
        for extensions in self._app.extension_manager.extension_apps.values():
            for extension in extensions:
                extension.static_url_prefix = moved(extension.static_url_prefix, before, base)

    def _at_first(self, do: Callable[[], None]) -> None:
        """Does it with the path of the routes, so that more of them can be made."""
        base = self.base
        self.move(self._made)
        try:
            do()
        finally:
            self.move(base)

    def _elsewhere(self, request: httputil.HTTPServerRequest) -> bool:
        return leads_elsewhere(request.headers.get("Host", ""), self.base)

    def _lead(self, request: httputil.HTTPServerRequest, **kwargs: Any) -> Any:
        if not (request.path + "/").startswith(self.base) or self._here and self._elsewhere(request):
            return self._web.get_handler_delegate(request, Nothing)
        asked, rest = request.path, request.path[len(self.base):]
        if rest in BROKEN:
            return self._web.get_handler_delegate(request, Nothing)
        if self._browsers.needed(rest):
            return browsers.Waiting(self._browsers.come, lambda: self._lead(request, **kwargs))
        request.path = self._made + rest
        try:
            found = self._find(request, **kwargs)
        finally:
            request.path = asked  # handlers put it into pages and redirections
        where_to = getattr(found, "handler_kwargs", None)  # redirections have their URL there
        if where_to and self.base != self._made:
            found.handler_kwargs = {k: moved(v, self._made, self.base) if k == "url" else v for k, v in where_to.items()}
        return found


def moved(value: Any, before: str, base: str) -> Any:
    """The value, a path or what has some in it, with the new one. Dictionaries stay the same objects."""
    if isinstance(value, str) and value.startswith(before):
        return base + value[len(before):]
    if type(value) is dict:
        for key in value:
            value[key] = moved(value[key], before, base)
    return value
