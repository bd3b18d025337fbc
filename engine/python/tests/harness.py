"""Drives a real worker process over its control socket, as the runtime does."""

import array
import itertools
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
from typing import Any, Dict, Iterator, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
MAIN = Path(os.environ.get("SEER_TEST_MAIN") or HERE.parent / "seer_worker_main.py")
LIMIT = 120.0  # seconds: an answer that has not come by then never will

# NOTES begins services whose tests ask what has run.
NOTES = '''
ran = []

@expose
def note(value):
    ran.append(value)
    return value

@expose
def notes(): return ran
'''


class Clock:
    """A clock that tests move."""

    def __init__(self, time: float) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time


class Failed(Exception):
    def __init__(self, error: Dict[str, Any]) -> None:
        super().__init__("%(code)s: %(message)s" % error)
        self.error = error
        self.code, self.type = error["code"], error.get("type", "")
        self.message, self.traceback = error["message"], error.get("traceback", "")


_names = itertools.count(1)


class Peer:
    """The client's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self.name = "peer%d" % next(_names)
        self._calls = 0

    def start(self, fn: str, *args: Any, tagged: bool = False, call_id: str = "", options: Optional[Dict[str, Any]] = None,
              timeout: float = 0, **kwargs: Any) -> str:
        """Sends a call and gives its name."""
        self._calls += 1
        call_id = call_id or "%s-%06d" % (self.name, self._calls)
        header: Dict[str, Any] = {"t": "call", "id": call_id, "fn": fn, **(options or {})}
        if timeout:
            header["timeout"] = timeout
        if tagged:
            header["tagged"] = True
        self.send(header, json.dumps({"args": args, "kwargs": kwargs}).encode())
        return call_id

    def send(self, header: Dict[str, Any], body: bytes = b"") -> None:
        self.sock.sendall(frame(header, body))

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

    def events(self, call_id: str) -> "Iterator[Tuple[Dict[str, Any], bytes]]":
        """All frames of the call until its last; those of others are an error."""
        while True:
            header, body = self.read()
            if header.get("id") != call_id:
                raise AssertionError("the frame is of %s instead of %s" % (header.get("id"), call_id))
            yield header, body
            if header["t"] in ("result", "error"):
                return

    def answer(self, call_id: str) -> Any:
        """The result of a call; what else comes of it is passed over."""
        for header, body in self.events(call_id):
            if header["t"] == "error":
                raise Failed(header["error"])
            if header["t"] == "result":
                return json.loads(body)

    def call(self, fn: str, *args: Any, **kwargs: Any) -> Any:
        return self.answer(self.start(fn, *args, **kwargs))

    def calls(self, **header: Any) -> List[Dict[str, Any]]:
        """What the worker knows of calls."""
        self.send({"t": "calls", **header})
        header, body = self.read()
        while header["t"] == "queued":  # news of a call that waits, which may come at any time
            header, body = self.read()
        if header["t"] != "calls":
            raise AssertionError("it was a %s" % header["t"])
        return json.loads(body)

    def close(self) -> None:
        self.sock.close()


def frame(header: Dict[str, Any], body: bytes = b"") -> bytes:
    data = json.dumps(header).encode()
    return struct.pack("<IQ", len(data), len(body)) + data + body


class Worker:
    """A worker process. Use it with `with`; afterwards nothing is left."""

    def __init__(self, code: str, *, filename: str = "interface.py", models: Optional[List[Dict[str, Any]]] = None,
                 secrets: Optional[Dict[str, str]] = None, files: Optional[Dict[str, str]] = None, journal: Optional[Path] = None,
                 prepare: str = "", **load: Any) -> None:
        """load: further fields of the control line; prepare: code that runs in the process before the worker does."""
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
        self.journal, self._prepare, self._load = journal or self.folder / "journal", prepare, load
        self.interface: Dict[str, Any] = {}
        self.hello: Dict[str, Any] = {}
        self.fds: List[int] = []

    def __enter__(self) -> "Worker":
        self._peers: List[Peer] = []
        self.control: Optional[socket.socket] = None
        listener = socket.socket(socket.AF_UNIX)
        self.address = str(self.folder / "control")
        listener.bind(self.address)
        listener.listen()
        life, self.life = os.pipe()
        outputs = [os.pipe(), os.pipe()]
        with tempfile.TemporaryFile() as page:
            page.truncate(64)
            self.page = mmap.mmap(page.fileno(), 64)
            self._output = tempfile.TemporaryFile()
            fds = [listener.fileno(), page.fileno(), outputs[0][0], outputs[1][0], life]
            self.process = subprocess.Popen(
                _command(fds, self._prepare), pass_fds=fds,
                stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, env={**os.environ, **self.secrets})
        listener.close()
        for fd in (life, *itertools.chain(*outputs)):
            os.close(fd)
        self.rejoin()
        self.tell({"t": "load", "filename": self.filename, "path": str(self.path), "models": self.models, "service": "tools",
                   "generation": 1,
                   "workdir": str(self.workdir), "secrets": list(self.secrets), "journal": str(self.journal), **self._load})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for peer in self._peers:
            peer.close()
        self.leave()
        os.close(self.life)
        self.page.close()
        self._output.close()
        self._folder.cleanup()

    def rejoin(self) -> Dict[str, Any]:
        """Connects as the next runtime does, and gives the hello."""
        control = socket.socket(socket.AF_UNIX)
        control.settimeout(LIMIT)
        control.connect(self.address)
        self.leave()
        self.control, self._lines = control, b""
        self.hello = self.heard()
        return self.hello

    def leave(self) -> None:
        """As a runtime that has died."""
        if self.control is not None:
            self.control.close()
            self.control = None
        while self.fds:
            os.close(self.fds.pop())

    def tell(self, *messages: Dict[str, Any], fd: Optional[int] = None) -> None:
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        self.control.sendmsg([json.dumps(m).encode() + b"\n" for m in messages], rights)

    def heard(self) -> Dict[str, Any]:
        while b"\n" not in self._lines:
            data, rights, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(64))
            for _, _, content in rights:
                fds = array.array("i")
                fds.frombytes(content)
                self.fds += fds
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

    def connect(self, *after: Dict[str, Any], **message: Any) -> Peer:
        """A client's connection; message: token, client, runtime. after: what is told in one piece with it."""
        ours, theirs = socket.socketpair()
        self.tell({"t": "conn", "hello": "", **message}, *after, fd=theirs.fileno())
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


def serve_class(case: Any, code: str, **options: Any) -> "Worker":
    """A worker for all tests of a class."""
    worker = serve(code, **options)
    worker.__enter__()
    case.addClassCleanup(worker.__exit__)
    return worker


class _Ready(Worker):
    def __enter__(self) -> "Worker":
        super().__enter__()
        try:
            return self.ready()
        except BaseException:
            self.__exit__()
            raise


def _command(fds: List[int], prepare: str) -> List[str]:
    """Puts the descriptors where the worker expects them, then becomes the worker."""
    move = ("import fcntl,os,sys\n"
            "fds=[fcntl.fcntl(f,fcntl.F_DUPFD_CLOEXEC,20) for f in %r]\n"
            "for i,f in enumerate(fds): os.dup2(f,3+i)\n"
            "%s\n"
            "os.execv(sys.executable,[sys.executable,'-I','-B','-u',%r])" % (fds, prepare, str(MAIN)))
    return [sys.executable, "-I", "-S", "-c", move]


def alive(pid: int) -> bool:
    """Whether a process runs. One that has ended and waits for its parent does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def eventually(condition: Any, what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.005)
