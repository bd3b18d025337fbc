"""Starts the notebook service as a sandbox does, and talks to it over HTTP."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

PACKAGE = Path(__file__).resolve().parents[2]
TOKEN = "0123456789abcdef0123456789"
LIMIT = 60.0  # seconds: what has not come by then never will


class Failed(Exception):
    def __init__(self, status: int, body: bytes) -> None:
        super().__init__("%d: %s" % (status, body.decode()))
        self.status = status
        self.error = json.loads(body)["error"]
        self.code, self.message = self.error["code"], self.error["message"]


def launch(config: Dict[str, Any], env: Optional[Dict[str, str]] = None) -> subprocess.Popen:
    """The supervisor, with its configuration on the standard input."""
    command = [sys.executable, "-B", "-m", "seer_notebook", "--config", "-"]
    child = subprocess.Popen(command, cwd=PACKAGE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    child.stdin.write(json.dumps(config).encode())
    child.stdin.close()
    return child


class Server:
    """One service with a folder of its own."""

    def __init__(self, env: Optional[Dict[str, str]] = None, **config: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="n é ")
        self.root = Path(self._folder.name).resolve() / "work space"
        self.root.mkdir()
        home = self.root.parent / "home"
        home.mkdir()
        self.config = {"root": str(self.root), "notebooks_dir": "notebooks", "ip": "127.0.0.1", "port": 0, "token": TOKEN, **config}
        self.private = self.root.parent / "tmp"
        self.private.mkdir()
        self.child = launch(self.config, {"HOME": str(home), "TMPDIR": str(self.private), **(env or {})})
        self.log: List[str] = []
        self.port = 0
        listening = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(listening,), daemon=True)
        self._reader.start()
        if not listening.wait(LIMIT) or not self.port:
            raise AssertionError("it does not listen: %s" % "".join(self.log))

    def _read(self, listening: threading.Event) -> None:
        for line in self.child.stderr:
            text = line.decode(errors="replace")
            self.log.append(text)
            found = re.search(r"listening at http://127.0.0.1:(\d+)/", text)
            if found:
                self.port = int(found.group(1))
                listening.set()
        listening.set()

    def open(self, method: str, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        headers = {**({"Authorization": "Bearer " + TOKEN} if headers is None else headers), "Connection": "close"}
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, headers)
        return connection.getresponse()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of the answer; raises Failed."""
        with self.open(method, "/seer/v1" + path, body) as answer:
            data = answer.read()
            if answer.status >= 400:
                raise Failed(answer.status, data)
            return json.loads(data) if data else None

    def new(self, name: str = "test", **more: str) -> str:
        return self.ask("POST", "/sessions", {"mode": "new", "name": name, **more})["session"]["id"]

    def add(self, session: str, source: str, **more: Any) -> Dict[str, Any]:
        return self.ask("POST", "/sessions/%s/cells" % session, {"type": "code", "source": source, "run": True, **more})

    def run(self, session: str, source: str, **more: Any) -> Dict[str, Any]:
        """Runs a cell to its end: the execution, with what was said as "events" and all printed text as "text"."""
        made = self.add(session, source, **more)
        return self.ended(made["execution"]["id"])

    def ended(self, execution: str) -> Dict[str, Any]:
        events = list(self.events(execution))
        if events[-1]["t"] != "end":
            raise AssertionError("it has not ended: %s" % events[-1])
        return {**events[-1]["execution"], "events": events, "text": text(events)}

    def events(self, execution: str, start: int = 0, wait: float = LIMIT) -> Iterator[Dict[str, Any]]:
        with self.open("GET", "/seer/v1/executions/%s/events?from=%d&wait=%s" % (execution, start, wait)) as answer:
            if answer.status != 200:
                raise Failed(answer.status, answer.read())
            for line in answer:
                yield json.loads(line)

    def cells(self, session: str, query: str = "") -> List[Dict[str, Any]]:
        return self.ask("GET", "/sessions/%s/cells%s" % (session, query))["cells"]

    def path(self, session: str) -> Path:
        return self.root / self.ask("GET", "/sessions/" + session)["path"]

    def server_pid(self) -> int:
        """Of the Jupyter server, the supervisor's child."""
        return int(Path("/proc/%d/task/%d/children" % (self.child.pid, self.child.pid)).read_text().split()[0])

    def close(self) -> int:
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        code = self.child.wait(LIMIT)
        self._reader.join(LIMIT)
        self.child.stderr.close()
        self._folder.cleanup()
        return code


def text(events: List[Dict[str, Any]]) -> str:
    return "".join(e["output"]["text"] for e in events if e["t"] == "output" and e["output"]["output_type"] == "stream")


def until(check: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come: " + what)


def alive(pid: int) -> bool:
    try:
        return Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
