"""The attacks of attacks_notebook_test.go on real Jupyter servers. It prints what came of each, with its defence and without.

A defence is switched off in a copy of the package, by a line at the end of a module. Attacks on the same copy share a server.
"""

import http.cookiejar
import json
import os
import shutil
import socket
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Optional
from unittest import mock
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import harness  # noqa: E402
import nbformat.sign  # noqa: E402
from test_base_path import Neighbour  # noqa: E402

from seer_notebook.server import base_path  # noqa: E402

BASE = "/aBc-123_first/"
BEARER = {"Authorization": "Bearer " + harness.TOKEN}
SCRIPT = "from IPython.display import display, HTML\ndisplay(HTML('<script>steal()</script>'))"
ANY_NAME = {"server/base_path": "leads_elsewhere = lambda host, base: False"}
ANY_COOKIE = {"server/base_path": "own_host = lambda base: '127.0.0.1'\nCOOKIES.clear()"}
SIGNED = {
    "document/file": """
_save = FileDocument.save
async def save(self):
    await _save(self)
    self._contents.notary.sign(nbformat.read(os.path.join(self._root, self.path), as_version=4))
FileDocument.save = save
""",
    "server/server": """
_configured = configured
def configured(*args):
    c = _configured(*args)
    del c["NotebookNotary"]
    return c
"""}
ANY_PATH = {"document/paths": "existing = lambda root, path: path"}
OPEN_FOLDER = {"server/places": """
_sockets = sockets
def sockets(private):
    folder = _sockets(private)
    os.chmod(folder, 0o777)
    return folder
"""}
PLAIN_FILES = {"server/server": """
from jupyter_server.base.handlers import AuthenticatedFileHandler
AuthenticatedFileHandler.content_security_policy = "frame-ancestors 'self'"
"""}


class Servers:
    """Servers of the package as it is, or with lines at the ends of its modules: those of the same lines run at the same time."""

    def __init__(self, defended: bool) -> None:
        self.defended, self.lines = defended, {}  # type: bool, Dict[str, str]
        self.running: Dict[str, harness.Server] = {}
        self.folder: Optional[Any] = None

    def get(self, lines: Dict[str, str], base: str = BASE) -> harness.Server:
        """The server for an attack, for which these lines switch the defence off."""
        lines = {} if self.defended else lines
        if lines != self.lines:
            self.close()
            self.lines = lines
        if base not in self.running:
            with mock.patch.object(harness, "PACKAGE", self.package()):
                self.running[base] = harness.Server(base_url=base)
        return self.running[base]

    def package(self) -> Path:
        if not self.lines:
            return harness.PACKAGE
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory()
            copy = shutil.copytree(harness.PACKAGE / "seer_notebook", Path(self.folder.name) / "seer_notebook")
            for module, text in self.lines.items():
                with open(copy / (module + ".py"), "a", encoding="utf-8") as f:
                    f.write("\n\n" + text + "\n")
        return Path(self.folder.name)

    def close(self) -> None:
        while self.running:
            self.running.popitem()[1].close()
        if self.folder is not None:
            self.folder.cleanup()
            self.folder = None


def cookies(servers: Servers) -> str:
    """Another sandbox's page, which knows the secret path: does a browser send it the keys of Jupyter?"""
    server, neighbour, there = servers.get(ANY_COOKIE), Neighbour(), socket.getaddrinfo
    own_host = base_path.own_host if servers.defended else lambda base: "127.0.0.1"

    def here(host: Any, *args: Any, **more: Any) -> Any:
        return there("127.0.0.1" if str(host).endswith(".localhost") else host, *args, **more)

    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    try:
        with mock.patch.object(socket, "getaddrinfo", here):
            browser.open("http://%s:%d%sseer/v1?token=%s" % (own_host(BASE), server.port, BASE, harness.TOKEN)).read()
            browser.open("http://%s:%d%s" % (own_host("/the-neighbours/"), neighbour.server_port, BASE)).read()
        return "succeeded" if "username-" in neighbour.heard[-1] else "the browser sends no cookie"
    finally:
        neighbour.close()


def cross_site(servers: Servers) -> str:
    """Does the cookie of Jupyter go along with requests that pages of other sites make?"""
    server = servers.get(ANY_COOKIE)
    with server.open("GET", BASE + "seer/v1?token=" + harness.TOKEN, headers={}) as answer:
        said = [v for k, v in answer.getheaders() if k.lower() == "set-cookie" and v.startswith("username-")]
    return "SameSite=Strict" if all("samesite=strict" in v.lower() for v in said) and said else "succeeded"


def rebinding(servers: Servers) -> str:
    """A domain that was made to lead to this computer, whose page knows path and token."""
    server = servers.get(ANY_NAME)
    with server.open("GET", BASE + "seer/v1", headers={**BEARER, "Host": "evil.example"}) as answer:
        return "succeeded" if answer.status == 200 else "status %d" % answer.status


def scripts(servers: Servers) -> str:
    """HTML that an agent's cell has printed runs its scripts in a person's JupyterLab."""
    server = servers.get(SIGNED, "/")
    path = str(made(server).relative_to(server.root))

    def trusted() -> bool:
        with server.open("GET", "/api/contents/" + quote(path)) as answer:
            return bool(json.loads(answer.read())["content"]["cells"][0]["metadata"].get("trusted"))

    if not servers.defended:
        harness.until(trusted, "the signature, which Jupyter stores after the notebook")
    return "succeeded" if trusted() else "the cell is not trusted"


def collected(servers: Servers) -> str:
    """The same on the user's own computer, whose home a sandbox without isolation shares."""
    server = servers.get(SIGNED, "/")
    notebook = nbformat.read(made(server), as_version=4)
    data = server.root.parent / "home" / ".local" / "share" / "jupyter"
    data.mkdir(parents=True, exist_ok=True)
    notary = nbformat.sign.NotebookNotary(data_dir=str(data))
    if not servers.defended:
        harness.until(lambda: notary.check_signature(notebook), "the signature, which Jupyter stores after the notebook")
    return "succeeded" if notary.check_signature(notebook) else "the notebook is not signed"


def made(server: harness.Server) -> Path:
    """A saved notebook with the script."""
    session = server.new("n")
    server.run(session, SCRIPT)
    path = server.path(session)
    harness.until(lambda: "steal()</script>" in path.read_text() and '"outputs": []' not in path.read_text(), "the saved output")
    server.run(session, "1")
    harness.until(lambda: '"execution_count": 2' in path.read_text(), "the next saving")
    return path


def page(servers: Servers) -> str:
    """A file of HTML has the powers of Jupyter's own pages."""
    server = servers.get(PLAIN_FILES)
    (server.root / "evil.html").write_text("<script>steal()</script>")
    with server.open("GET", BASE + "files/evil.html", headers=BEARER) as answer:
        policy = answer.headers.get("Content-Security-Policy", "")
    return "Content-Security-Policy: sandbox" if "sandbox" in policy and "allow-same-origin" not in policy else "succeeded"


def outside(servers: Servers) -> str:
    """A session with a notebook that does not lie among those of the sandbox."""
    server = servers.get(ANY_PATH, "/")
    (server.root / "link").symlink_to(server.root.parent)
    (server.root.parent / "secret.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}))
    asked = {"mode": "continue", "name": "n", "path": "link/secret.ipynb"}
    with server.open("POST", "/seer/v1/sessions", asked) as answer:
        said = answer.read().decode()
    return "succeeded" if answer.status < 300 else said


def sockets(servers: Servers) -> str:
    """Another user of the machine enters the folder of the kernels' sockets."""
    server = servers.get(OPEN_FOLDER, "/")
    server.run(server.new("n"), "1")
    private = next(p for p in server.private.iterdir() if p.name.startswith("seer-notebook-"))
    entered = (private / "sockets").resolve()
    kinds = [p.is_socket() for p in entered.iterdir()]
    mode = entered.stat().st_mode & 0o777
    return "mode %o" % mode if any(kinds) and not mode & 0o077 else "succeeded"


# In the order in which the fewest servers are needed.
ATTACKS: Dict[str, Callable[[Servers], str]] = {
    "cookies": cookies, "cross site": cross_site, "rebinding": rebinding, "page": page,
    "scripts": scripts, "collected": collected, "through a link": outside, "sockets": sockets}


def everything() -> Dict[str, Dict[str, str]]:
    found: Dict[str, Dict[str, str]] = {name: {} for name in ATTACKS}
    for defended in (True, False):
        servers = Servers(defended)
        try:
            for name, attack in ATTACKS.items():
                found[name]["defended" if defended else "open"] = attack(servers)
        finally:
            servers.close()
    return found


if __name__ == "__main__":
    os.umask(0o077)
    print(json.dumps(everything()))
