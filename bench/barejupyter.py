"""Jupyter without Seer: a server and a kernel started by hand in a bare bubblewrap, driven by jupyter_client."""

import glob
import json
import os
import queue
import socket
import time
import urllib.error
import urllib.request
from typing import Any, List

from lab import Lab

TOKEN = "token-of-the-bare-jupyter"
SETTINGS = ["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", "--ServerApp.allow_root=True", "--ServerApp.open_browser=False",
            "--IdentityProvider.token=" + TOKEN, "--ServerApp.root_dir=/workspace"]

PATIENCE = 180  # seconds: it has ended, or never will


class Bare:
    """One of them. The packages are those of the layer that Seer shows to its own."""

    def __init__(self, lab: Lab, layer: str, extensions: bool = True) -> None:
        lab.use_peers()
        self._lab, self._layer, self._extensions = lab, layer, extensions
        self.client: Any = None

    def start(self) -> float:
        """The seconds from nothing to the result of the first cell."""
        folder = self._lab.folder("jupyter")
        for old in glob.glob(str(folder / "home/seer/.local/share/jupyter/runtime/*")):
            os.unlink(old)
        port = free()
        argv: List[str] = ["/seer/base/venv/bin/python", "-m", "jupyter_server", "--ServerApp.port=%d" % port, *SETTINGS]
        if not self._extensions:
            argv = ["/usr/bin/env", "JUPYTER_NO_CONFIG=1", *argv]
        begin = time.perf_counter()
        self._lab.helper("hold", dir=str(folder), file=self._layer, argv=argv)
        base = "http://127.0.0.1:%d/api" % port
        while not answers(base):
            if time.perf_counter() - begin > PATIENCE:
                raise SystemExit("bench: the bare Jupyter does not answer after %d s" % PATIENCE)
            time.sleep(0.01)
        kernel = ask(base + "/kernels", b"{}")["id"]
        self._connect(str(folder / ("home/seer/.local/share/jupyter/runtime/kernel-%s.json" % kernel)))
        self.execute()
        return time.perf_counter() - begin

    def _connect(self, file: str) -> None:
        from jupyter_client.blocking import BlockingKernelClient

        self.client = BlockingKernelClient(connection_file=file)
        self.client.load_connection_file()
        self.client.start_channels(hb=False)  # on a busy computer a slow heartbeat is no death
        while True:  # until both channels have answered; the subscription may be later than the first message
            self.client.kernel_info()
            self.client.get_shell_msg(timeout=120)
            try:
                self.client.get_iopub_msg(timeout=0.2)
                return
            except queue.Empty:
                pass

    def execute(self) -> float:
        """Runs one cell: the seconds until its output and its reply are there."""
        begin = time.perf_counter()
        found = ""
        asked = self.client.execute("1 + 1")
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != asked:
                continue
            if message["msg_type"] == "execute_result":
                found = message["content"]["data"]["text/plain"]
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        self.client.get_shell_msg(timeout=120)
        took = time.perf_counter() - begin
        if found != "2":
            raise SystemExit("bench: the bare kernel answered %r" % found)
        return took

    def stop(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
            self.client = None
        self._lab.helper("release")

    def once(self) -> float:
        took = self.start()
        self.stop()
        return took


def free() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def answers(base: str) -> bool:
    try:
        with urllib.request.urlopen(base, timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError, socket.timeout):
        return False


def ask(url: str, data: bytes) -> Any:
    request = urllib.request.Request(url, data, {"Authorization": "token " + TOKEN, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)
