"""The attacks of attacks_notebook_test.go on a real Jupyter server: `attacks.py NAME defended|open`.

A defence is switched off in a copy of the package, by a line at the end of a module.
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
from typing import Callable, Dict
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


def start(folder: Path, lines: Dict[str, str], base: str = BASE) -> harness.Server:
    """A server of the package as it is, or with these lines at the ends of its modules."""
    if lines:
        package = folder / "package"
        shutil.copytree(harness.PACKAGE / "seer_notebook", package / "seer_notebook")
        for module, text in lines.items():
            with open(package / "seer_notebook" / (module + ".py"), "a", encoding="utf-8") as f:
                f.write("\n\n" + text + "\n")
        harness.PACKAGE = package
    return harness.Server(base_url=base)


def cookies(defended: bool, folder: Path) -> str:
    """Another sandbox's page, which knows the secret path: does a browser send it the keys of Jupyter?"""
    server, neighbour = start(folder, {} if defended else ANY_COOKIE), Neighbour()
    try:
        if not defended:
            base_path.own_host = lambda base: "127.0.0.1"
        there = socket.getaddrinfo
        socket.getaddrinfo = lambda host, *a, **k: there("127.0.0.1" if str(host).endswith(".localhost") else host, *a, **k)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        browser.open("http://%s:%d%sseer/v1?token=%s" % (base_path.own_host(BASE), server.port, BASE, harness.TOKEN)).read()
        browser.open("http://%s:%d%s" % (base_path.own_host("/the-neighbours/"), neighbour.server_port, BASE)).read()
        return "succeeded" if "username-" in neighbour.heard[-1] else "the browser sends no cookie"
    finally:
        neighbour.close()
        server.close()


def cross_site(defended: bool, folder: Path) -> str:
    """Does the cookie of Jupyter go along with requests that pages of other sites make?"""
    server = start(folder, {} if defended else ANY_COOKIE)
    try:
        with server.open("GET", BASE + "seer/v1?token=" + harness.TOKEN, headers={}) as answer:
            said = [v for k, v in answer.getheaders() if k.lower() == "set-cookie" and v.startswith("username-")]
        return "SameSite=Strict" if all("samesite=strict" in v.lower() for v in said) and said else "succeeded"
    finally:
        server.close()


def rebinding(defended: bool, folder: Path) -> str:
    """A domain that was made to lead to this computer, whose page knows path and token."""
    server = start(folder, {} if defended else ANY_NAME)
    try:
        with server.open("GET", BASE + "seer/v1", headers={**BEARER, "Host": "evil.example"}) as answer:
            return "succeeded" if answer.status == 200 else "status %d" % answer.status
    finally:
        server.close()


def scripts(defended: bool, folder: Path) -> str:
    """HTML that an agent's cell has printed runs its scripts in a person's JupyterLab."""
    server = start(folder, {} if defended else SIGNED, "/")
    try:
        path = str(made(server).relative_to(server.root))
        with server.open("GET", "/api/contents/" + quote(path)) as answer:
            cell = json.loads(answer.read())["content"]["cells"][0]
        return "succeeded" if cell["metadata"].get("trusted") else "the cell is not trusted"
    finally:
        server.close()


def collected(defended: bool, folder: Path) -> str:
    """The same on the user's own computer, whose home a sandbox without isolation shares."""
    server = start(folder, {} if defended else SIGNED, "/")
    try:
        notebook = nbformat.read(made(server), as_version=4)
        data = server.root.parent / "home" / ".local" / "share" / "jupyter"
        data.mkdir(parents=True, exist_ok=True)
        notary = nbformat.sign.NotebookNotary(data_dir=str(data))
        return "succeeded" if notary.check_signature(notebook) else "the notebook is not signed"
    finally:
        server.close()


def made(server: harness.Server) -> Path:
    """A saved notebook with the script."""
    session = server.new("n")
    server.run(session, SCRIPT)
    path = server.path(session)
    harness.until(lambda: "steal()</script>" in path.read_text() and '"outputs": []' not in path.read_text(), "the saved output")
    server.run(session, "1")
    harness.until(lambda: '"execution_count": 2' in path.read_text(), "the next saving")
    return path


def page(defended: bool, folder: Path) -> str:
    """A file of HTML has the powers of Jupyter's own pages."""
    server = start(folder, {} if defended else PLAIN_FILES)
    try:
        (server.root / "evil.html").write_text("<script>steal()</script>")
        with server.open("GET", BASE + "files/evil.html", headers=BEARER) as answer:
            policy = answer.headers.get("Content-Security-Policy", "")
        return "Content-Security-Policy: sandbox" if "sandbox" in policy and "allow-same-origin" not in policy else "succeeded"
    finally:
        server.close()


def outside(defended: bool, folder: Path) -> str:
    """A session with a notebook that does not lie among those of the sandbox."""
    server = start(folder, {} if defended else ANY_PATH, "/")
    try:
        (server.root / "link").symlink_to(server.root.parent)
        (server.root.parent / "secret.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}))
        asked = {"mode": "continue", "name": "n", "path": "link/secret.ipynb"}
        with server.open("POST", "/seer/v1/sessions", asked) as answer:
            said = answer.read().decode()
        return "succeeded" if answer.status < 300 else said
    finally:
        server.close()


def sockets(defended: bool, folder: Path) -> str:
    """Another user of the machine enters the folder of the kernels' sockets."""
    server = start(folder, {} if defended else OPEN_FOLDER, "/")
    try:
        server.run(server.new("n"), "1")
        private = next(p for p in server.private.iterdir() if p.name.startswith("seer-notebook-"))
        entered = (private / "sockets").resolve()
        kinds = [p.is_socket() for p in entered.iterdir()]
        mode = entered.stat().st_mode & 0o777
        return "mode %o" % mode if any(kinds) and not mode & 0o077 else "succeeded"
    finally:
        server.close()


ATTACKS: Dict[str, Callable[[bool, Path], str]] = {
    "through a link": outside,
    "sockets": sockets,
    "cookies": cookies, "cross site": cross_site, "rebinding": rebinding, "scripts": scripts, "collected": collected, "page": page}

if __name__ == "__main__":
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as made_here:
        print(ATTACKS[sys.argv[1]](sys.argv[2] == "defended", Path(made_here)))
