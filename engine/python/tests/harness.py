"""Drives a real worker process over a socket pair, as the runtime does."""

import array
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
MAIN = HERE.parent / "seer_worker_main.py"
LIMIT = 20.0  # seconds: an answer that has not come by then never will


class Failed(Exception):
    def __init__(self, error: Dict[str, Any]) -> None:
        super().__init__("%(code)s: %(message)s" % error)
        self.error = error
        self.code, self.type = error["code"], error.get("type", "")
        self.message, self.traceback = error["message"], error.get("traceback", "")


class Peer:
    """The client's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self._calls = 0

    def start(self, fn: str, *args: Any, timeout: float = 0, tagged: bool = False, call_id: str = "", **kwargs: Any) -> str:
        self._calls += 1
        call_id = call_id or "call-%d" % self._calls
        header: Dict[str, Any] = {"t": "call", "id": call_id, "fn": fn}
        if timeout:
            header["timeout"] = timeout
        if tagged:
            header["tagged"] = True
        self.send(header, json.dumps({"args": args, "kwargs": kwargs}).encode())
        return call_id

    def send(self, header: Dict[str, Any], body: bytes = b"") -> None:
        data = json.dumps(header).encode()
        self.sock.sendall(struct.pack("<IQ", len(data), len(body)) + data + body)

    def read(self) -> Tuple[Dict[str, Any], bytes]:
        head, body = struct.unpack("<IQ", self._exactly(12))
        return json.loads(self._exactly(head)), self._exactly(body)

    def _exactly(self, n: int) -> bytes:
        data = bytearray()
        while len(data) < n:
            part = self.sock.recv(min(n - len(data), 1 << 20))
            if not part:
                raise EOFError("the worker closed the connection")
            data += part
        return bytes(data)

    def answer(self, call_id: str) -> Any:
        header, body = self.read()
        if header["id"] != call_id:
            raise AssertionError("the answer is for %s instead of %s" % (header["id"], call_id))
        if header["t"] == "error":
            raise Failed(header["error"])
        return json.loads(body)

    def call(self, fn: str, *args: Any, **kwargs: Any) -> Any:
        return self.answer(self.start(fn, *args, **kwargs))

    def close(self) -> None:
        self.sock.close()


class Worker:
    """A worker process. Use it with `with`; afterwards nothing is left."""

    def __init__(self, code: str, *, filename: str = "interface.py", models: Optional[List[Dict[str, Any]]] = None,
                 secrets: Optional[Dict[str, str]] = None, files: Optional[Dict[str, str]] = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="seer-worker-test-")
        self.folder = Path(self._folder.name)
        self.workdir = self.folder / "workspace"
        self.workdir.mkdir()
        for name, text in (files or {}).items():
            (self.workdir / name).write_text(textwrap.dedent(text))
        self.path = self.folder / "code" / filename
        self.path.parent.mkdir()
        self.path.write_bytes(code if isinstance(code, bytes) else textwrap.dedent(code).encode())
        self.filename, self.models, self.secrets = filename, models or [], secrets or {}
        self.interface: Dict[str, Any] = {}

    def __enter__(self) -> "Worker":
        self.control, theirs = socket.socketpair()
        self.control.settimeout(LIMIT)
        self._lines = b""
        self._peers: List[Peer] = []
        with tempfile.TemporaryFile() as page:
            page.truncate(64)
            self.page = mmap.mmap(page.fileno(), 64)
            self._output = tempfile.TemporaryFile()
            self.process = subprocess.Popen(
                _command(theirs.fileno(), page.fileno()), pass_fds=(theirs.fileno(), page.fileno()),
                stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, env={**os.environ, **self.secrets})
        theirs.close()
        self.tell({"t": "load", "filename": self.filename, "path": str(self.path), "models": self.models,
                   "workdir": str(self.workdir), "secrets": list(self.secrets)})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for peer in self._peers:
            peer.close()
        self.control.close()
        self.page.close()
        self._output.close()
        self._folder.cleanup()

    def tell(self, message: Dict[str, Any], fd: Optional[int] = None) -> None:
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        self.control.sendmsg([json.dumps(message).encode() + b"\n"], rights)

    def heard(self) -> Dict[str, Any]:
        while b"\n" not in self._lines:
            data = self.control.recv(1 << 16)
            if not data:
                raise EOFError("the worker closed the control socket; it printed: " + self.printed())
            self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        return json.loads(line)

    def ready(self) -> "Worker":
        message = self.heard()
        if message["t"] != "ready":
            raise Failed(message["error"])
        self.interface = message["interface"]
        return self

    def failure(self) -> Failed:
        message = self.heard()
        if message["t"] != "failed":
            raise AssertionError("it was loaded")
        return Failed(message["error"])

    def connect(self) -> Peer:
        ours, theirs = socket.socketpair()
        self.tell({"t": "conn"}, theirs.fileno())
        theirs.close()
        self._peers.append(Peer(ours))
        return self._peers[-1]

    def counts(self) -> Tuple[int, int]:
        return struct.unpack_from("<QQ", self.page)

    def printed(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")


def serve(code: str, **options: Any) -> "Worker":
    """A worker to be used as `with serve(…) as worker`, once it is ready."""
    return _Ready(code, **options)


class _Ready(Worker):
    def __enter__(self) -> "Worker":
        super().__enter__()
        try:
            return self.ready()
        except BaseException:
            self.__exit__()
            raise


def _command(control: int, page: int) -> List[str]:
    """Puts the descriptors where the worker expects them, then becomes the worker."""
    move = ("import fcntl,os,sys\n"
            "c,p=[fcntl.fcntl(f,fcntl.F_DUPFD_CLOEXEC,10) for f in (%d,%d)]\n"
            "os.dup2(c,3);os.dup2(p,4)\n"
            "os.execv(sys.executable,[sys.executable,'-I','-B','-u',%r])" % (control, page, str(MAIN)))
    return [sys.executable, "-I", "-S", "-c", move]


def eventually(condition: Any, what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.005)
