"""What only browsers need is loaded when the first one comes, and it waits for it. JupyterLab is a fake."""

import socket
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Tuple

from harness import LIMIT, TOKEN, Server, until

BASE, NEXT = "/the-first/", "/the-next/"
# It takes its time: until the test lets it.
LABAPP = """
import os, time
with open({began!r}, "a") as f:
    f.write("x")
end = time.monotonic() + {limit}
while not os.path.exists({go!r}) and time.monotonic() < end:
    time.sleep(0.02)
"""
LAB = """
def _jupyter_server_extension_points():
    from . import labapp
    return [{"module": "jupyterlab"}]

def _load_jupyter_server_extension(app):
    from tornado import web, websocket
    base = app.web_app.settings["base_url"]
    app.web_app.settings["of_lab"] = base + "static/lab"

    class Lab(web.RequestHandler):
        def check_xsrf_cookie(self):
            pass

        def get(self):
            self.write("%s %s" % (self.settings["of_lab"], self.request.path))

        def post(self):
            self.write(self.request.body)

    class Socket(websocket.WebSocketHandler):
        def check_origin(self, origin):
            return True

    app.web_app.add_handlers(".*$", [(base + "lab/socket", Socket), (base + "lab/?.*", Lab)])
"""


class Browsers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="b é ")
        self.addCleanup(folder.cleanup)
        top = Path(folder.name)
        self.began, self.go = top / "began", top / "go"
        settings = top / "etc" / "jupyter_server_config.d"
        settings.mkdir(parents=True)
        (settings / "a.json").write_text('{"ServerApp": {"jpserver_extensions": {"jupyterlab": true, "notebook_shim": true}}}')
        for name, text in (("jupyterlab/__init__", LAB), ("notebook_shim/__init__", "raise ImportError('a part of it lacks')"),
                           ("jupyterlab/labapp", LABAPP.format(began=str(self.began), go=str(self.go), limit=LIMIT))):
            file = top / "lib" / (name + ".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.server = Server({"PYTHONPATH": str(top / "lib"), "JUPYTER_CONFIG_PATH": str(top / "etc")}, base_url=BASE, lab=True)
        self.addCleanup(self.server.close)
        self.addCleanup(self.go.touch)  # before that, so that nothing of it waits

    def ask(self, path: str, method: str = "GET", **more: Any) -> Tuple[int, bytes]:
        with self.server.open(method, path, **more) as answer:
            return answer.status, answer.read()

    def test_they_wait_for_it_and_agents_do_not(self) -> None:
        self.assertEqual(self.ask(BASE + "seer/v1/sessions", "POST", body={"mode": "new", "name": "x"})[0], 201)
        self.assertEqual(self.ask(BASE[:-1] + "x/lab")[0], 404)
        self.assertFalse(self.began.exists(), "an agent's session, or a stranger, has waited for JupyterLab")
        self.assertEqual(self.ask(BASE + "seer/v1/renew", "POST", body={"token": TOKEN, "base_url": NEXT})[0], 200)
        with ThreadPoolExecutor() as threads:
            page, tree = threads.submit(self.ask, NEXT + "lab"), threads.submit(self.ask, NEXT + "lab/tree/a%20b")
            long = threads.submit(self.ask, NEXT + "lab", "POST", body=b"\xe9" * (1 << 20))
            until(self.began.exists, "the import of JupyterLab")
            with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as gone:  # this one waits no longer
                gone.sendall(b"GET %slab HTTP/1.1\r\nHost: x\r\n\r\n" % NEXT.encode())
            self.assertEqual(self.ask(NEXT + "seer/v1/sessions")[0], 200, "the service waits as well")
            self.assertFalse([f for f in (page, tree, long) if f.done()])
            self.go.touch()
            self.assertEqual(page.result(LIMIT), (200, b"/the-next/static/lab /the-next/lab"))
            self.assertEqual(tree.result(LIMIT), (200, b"/the-next/static/lab /the-next/lab/tree/a%20b"))
            self.assertEqual(long.result(LIMIT), (200, b"\xe9" * (1 << 20)))
        self.assertEqual(self.ask(NEXT + "api/status")[0], 200)
        self.assertEqual(self.ask(BASE + "lab")[0], 404)
        self.assertEqual(self.began.read_text(), "x", "it was imported more than once")
        until(lambda: any("a part of it lacks" in line for line in self.server.log), "why the other one could not be loaded")

    def test_the_first_one_is_a_socket(self) -> None:
        self.go.touch()
        asked = ("GET %slab/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" % BASE)
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT) as browser:
            browser.sendall(asked.encode())
            self.assertTrue(browser.makefile("rb").readline().startswith(b"HTTP/1.1 101 "))
        self.assertEqual(self.ask(BASE + "lab")[0], 200)


if __name__ == "__main__":
    unittest.main()
