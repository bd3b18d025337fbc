"""Stands in for the runtime's HTTP front, as far as the client needs it: hands connections over, or carries calls."""

import json
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from harness import Failed, Worker

TOKEN = "a-token"


class Front:
    """Listens on a unix socket or on loopback TCP; `hand_over` says which of the two ways of calling it offers."""

    def __init__(self, worker: Optional[Worker], *, tcp: bool = False, hand_over: bool = True, depth: int = 0) -> None:
        self.worker, self.hand_over, self.accepted = worker, hand_over, 0
        self.answers: List[Tuple[int, Dict[str, Any]]] = []  # said to the next requests instead
        self.on_connection: Callable[[socket.socket], bool] = lambda sock: False
        self._folder = tempfile.TemporaryDirectory(prefix="seer-front-")
        self.folder = Path(self._folder.name, *["d" * 40] * depth)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "connection.json"
        self._tcp = tcp
        self._connections: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self.named: Dict[str, _Named] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "Front":
        if self._tcp:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.endpoint = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            here = os.open(self.folder, os.O_RDONLY)  # the folder's path may be too long to bind to
            self._listener.bind("/proc/self/fd/%d/s" % here)
            os.close(here)
            self._listener.listen()
            self.endpoint = "unix:%s" % (self.folder / "s")
        self.write_file()
        self._spawn(self._accept)
        return self

    def write_file(self, **changes: Any) -> None:
        connection = {"version": 1, "sandbox": "sb-1", "service": "tools", "endpoint": self.endpoint, "token": TOKEN, **changes}
        self.file.write_text(json.dumps(connection))

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(20)
        for sock in self._connections:
            sock.close()
        self._folder.cleanup()

    def cut(self) -> None:
        """Closes what has been accepted and not handed over."""
        for sock in self._connections:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def _spawn(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.on_connection(sock):
                self._connections.append(sock)
                continue
            self._connections.append(sock)
            self._spawn(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock, sock.makefile("rb") as lines:
                while self._request(sock, lines):
                    pass
        except OSError:
            return

    def _request(self, sock: socket.socket, lines: Any) -> bool:
        request = lines.readline().split()
        if len(request) < 2:
            return False
        headers = {}
        for line in iter(lines.readline, b"\r\n"):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = lines.read(int(headers.get("content-length", 0)))
        if self.answers:
            return self._say(sock, *self.answers.pop(0))
        if headers.get("authorization") != "Bearer " + TOKEN:
            return self._say(sock, 401, {"error": {"code": "unauthorized", "message": "wrong token"}})
        path, _, query = request[1].decode().partition("?")
        if not path.startswith("/v1/services/tools/"):
            return self._say(sock, 404, {"error": {"code": "not_found", "message": "no such service"}})
        if path.endswith("/connect"):
            return self._connect(sock)
        name = path.rpartition("/")[2]
        wait = float(query.partition("wait=")[2] or 0)
        if request[0] == b"POST" and query:
            with self._lock:
                call = self.named.get(headers["seer-call-id"])
                if call is None:
                    call = self.named[headers["seer-call-id"]] = _Named(self.worker.connect(), headers["seer-call-id"])
                    self._spawn(call.run, name, json.loads(body))
            return self._say(sock, *call.outcome(wait))
        if request[0] == b"GET":
            if name not in self.named:
                return self._say(sock, 404, {"error": {"code": "not_found", "message": "no such call"}})
            return self._say(sock, *self.named[name].outcome(wait))
        if request[0] == b"DELETE":
            self.named[name].peer.sock.shutdown(socket.SHUT_RDWR)
            return self._say(sock, 200, {})
        return self._say(sock, *_run(self.worker.connect(), name, json.loads(body)))

    def _connect(self, sock: socket.socket) -> bool:
        if not self.hand_over:
            return self._say(sock, 426, {"error": {"code": "unsupported", "message": "use call"}})
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n")
        self.worker.tell({"t": "conn"}, sock.fileno())
        return False

    def _say(self, sock: socket.socket, status: int, answer: Dict[str, Any]) -> bool:
        """An answer without content is one of a tunnel."""
        body = json.dumps(answer).encode()
        marker = b"Seer: 1\r\n" if answer or status < 300 else b""
        sock.sendall(b"HTTP/1.1 %d -\r\n%sContent-Length: %d\r\n\r\n" % (status, marker, len(body)) + body)
        return True


class _Named:
    """A call that outlives its requests."""

    def __init__(self, peer: Any, call_id: str) -> None:
        self.peer, self.id, self.done, self.said = peer, call_id, threading.Event(), (0, {})

    def run(self, fn: str, body: Dict[str, Any]) -> None:
        self.said = _run(self.peer, fn, body)
        self.done.set()

    def outcome(self, wait: float) -> Tuple[int, Dict[str, Any]]:
        return self.said if self.done.wait(wait) else (202, {"id": self.id})


def _run(peer: Any, fn: str, body: Dict[str, Any]) -> Tuple[int, Dict[str, Any]]:
    header = {"t": "call", "id": "1", "fn": fn, "timeout": body.get("timeout_seconds", 0), "tagged": body.get("tagged", False)}
    try:
        peer.send(header, json.dumps({"args": body["args"], "kwargs": body["kwargs"]}).encode())
        answer, data = peer.read()
    except (EOFError, OSError):
        return 422, {"error": {"code": "interrupted", "message": "the worker died"}}
    finally:
        peer.close()
    if answer["t"] == "error":
        return 422, {"error": answer["error"]}
    return 200, {"result": json.loads(data), "tagged": answer.get("tagged", False)}


__all__ = ["Failed", "Front", "TOKEN"]
