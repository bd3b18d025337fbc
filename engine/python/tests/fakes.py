"""Stands in for the runtime's HTTP front, as far as the client needs it: hands connections over, or carries calls."""

import json
import os
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import parse_qsl

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_worker import Frames

TOKEN = "a-token"
HELLO = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\nSeer: 1\r\n\r\n"


class Front:
    """Listens on a unix socket or on loopback TCP; `hand_over` says which of the two ways of calling it offers.

    A worker has connect(), which gives the other end of a connection that speaks frames, and serve(sock, hello)."""

    def __init__(self, worker: Any, *, tcp: bool = False, hand_over: bool = True, depth: int = 0) -> None:
        self.worker, self.hand_over, self.accepted = worker, hand_over, 0
        self.answers: List[Tuple[int, Dict[str, Any]]] = []  # said to the next requests instead
        self.on_connection: Callable[[socket.socket], bool] = lambda sock: False
        self.requests: List[str] = []
        self.arguments: Dict[str, bytearray] = {}
        self.cut_after: Optional[int] = None  # bytes of an answer
        self.cut_body: Optional[int] = None  # bytes of a request's body
        self._folder = tempfile.TemporaryDirectory(prefix="seer-front-")
        self.folder = Path(self._folder.name, *["d" * 40] * depth)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file, self._tcp = self.folder / "connection.json", tcp
        self._connections: List[socket.socket] = []
        self._threads: List[threading.Thread] = []

    def __enter__(self) -> "Front":
        if self._tcp:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.endpoint = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            here = os.open(self.folder, os.O_RDONLY)  # the folder's path may be too long to bind to
            self._listener.bind("/proc/self/fd/%d/s" % here)
            os.close(here)
            self._listener.listen(200)
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
            thread.join(120)
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
            self._connections.append(sock)
            if not self.on_connection(sock):
                self._spawn(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock, sock.makefile("rb") as lines:
                while self._request(sock, lines):
                    pass
        except (OSError, ValueError):
            return

    def _request(self, sock: socket.socket, lines: Any) -> bool:
        request = lines.readline().split()
        if len(request) < 2:
            return False
        headers = {}
        for line in iter(lines.readline, b"\r\n"):
            if not line.endswith(b"\n"):
                return False  # cut
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        method, (path, _, query) = request[0].decode(), request[1].decode().partition("?")
        self.requests.append("%s %s" % (method, path))
        size = int(headers.get("content-length", 0))
        if self.cut_body is not None and size > self.cut_body:
            body = lines.read(self.cut_body)
            if "/arguments/" in path:
                self._piece(path, dict(parse_qsl(query)), body)
            return False
        body = lines.read(size)
        if len(body) < size:
            return False
        if self.answers:
            return self._say(sock, *self.answers.pop(0))
        if headers.get("authorization") != "Bearer " + TOKEN:
            return self._say(sock, 401, {"error": {"code": "unauthorized", "message": "wrong token"}})
        if not path.startswith("/v1/services/tools/"):
            return self._say(sock, 404, {"error": {"code": "not_found", "message": "no such service"}})
        if path.endswith("/connect"):
            return self._connect(sock)
        return self._route(sock, method, path, dict(parse_qsl(query)), headers, body)

    def _route(self, sock: socket.socket, method: str, path: str, query: Dict[str, str], headers: Dict[str, str], body: bytes) -> bool:
        action, name = path.split("/")[4], path.rpartition("/")[2]
        options = json.loads(headers.get("seer-call-options", "{}"))
        if action == "arguments":
            return self._say(sock, 200, {"offset": self._piece(path, query, body)})
        if action == "calls" and path.endswith("/calls"):
            return self._say(sock, 200, {"calls": self.worker.listed(query.get("id"))})
        if method == "DELETE":
            return self._relay_once(sock, {"t": "cancel", "id": name})
        if method == "GET":
            header = {"t": "attach", "id": name, "from": int(query.get("from", 1))}
        else:
            header = {"t": "call", "id": headers["seer-call-id"], "fn": name, "linger": 150, **options}
            if "seer-call-done" in headers:
                header["ack"] = headers["seer-call-done"].split(",")
            if "seer-call-arguments" in headers:
                body = bytes(self.arguments.get(header["id"], b""))
                if len(body) != int(headers["seer-call-arguments"]):
                    return self._say(sock, 409, {"error": {"code": "conflict", "message": "%d bytes are there" % len(body)}})
        wants_frames = headers.get("accept") == "application/vnd.seer.frames"
        return self._relay(sock, header, body, float(query["wait"]), int(query.get("skip", 0)), wants_frames)

    def _piece(self, path: str, query: Dict[str, str], body: bytes) -> int:
        have, offset = self.arguments.setdefault(path.rpartition("/")[2], bytearray()), int(query["offset"])
        if offset <= len(have):
            have[offset:offset + len(body)] = body
        return len(have)

    def _relay_once(self, sock: socket.socket, header: Dict[str, Any]) -> bool:
        frames = Frames(self.worker.connect())
        frames.write(header)
        frames.close()
        return self._say(sock, 200, {})

    def _relay(self, sock: socket.socket, header: Dict[str, Any], body: bytes, wait: float, skip: int, wants_frames: bool) -> bool:
        frames, deadline, n = Frames(self.worker.connect()), time.monotonic() + wait, header.get("from", 1)
        self._left = self.cut_after
        try:
            frames.write(header, body)
            if wants_frames:
                self._send(sock, b"HTTP/1.1 200 -\r\nSeer: 1\r\n"
                           b"Transfer-Encoding: chunked\r\nContent-Type: application/vnd.seer.frames\r\n\r\n")
            while True:
                left = deadline - time.monotonic()
                if not frames.ready(max(left, 0.02)):
                    if not wants_frames:
                        return self._say(sock, 202, {"id": header["id"], "state": "running"})
                    self._frame(sock, {"t": "waiting", "id": header["id"], "n": n}, b"")
                    break
                event, data = frames.read()
                if not wants_frames:
                    status, answer = (422, {"error": event["error"]}) if event["t"] == "error" else (200, {"result": 0})
                    return self._say(sock, status, answer)
                if skip:
                    event["skip"], data, skip = skip, data[skip:], 0
                n = event.get("n", n) + 1
                self._frame(sock, event, data)
                if event["t"] in ("result", "error"):
                    break
            self._send(sock, b"0\r\n\r\n")
            return True
        except EOFError:
            return False
        finally:
            frames.close()

    def _frame(self, sock: socket.socket, header: Dict[str, Any], body: bytes) -> None:
        head = json.dumps(header).encode()
        data = struct.pack("<IQ", len(head), len(body)) + head + body
        self._send(sock, b"%x\r\n" % len(data) + data + b"\r\n")

    def _send(self, sock: socket.socket, data: bytes) -> None:
        """Sends, as far as it is not to be cut."""
        if self._left is not None and len(data) > self._left:
            sock.sendall(data[:self._left])
            raise OSError("cut")
        sock.sendall(data)
        if self._left is not None:
            self._left -= len(data)

    def _connect(self, sock: socket.socket) -> bool:
        if not self.hand_over:
            return self._say(sock, 426, {"error": {"code": "unsupported", "message": "use call"}})
        self.worker.serve(sock.dup(), HELLO)
        return False

    def _say(self, sock: socket.socket, status: int, answer: Dict[str, Any]) -> bool:
        """An answer without content is one of a tunnel."""
        body = json.dumps(answer).encode()
        marker = b"Seer: 1\r\n" if answer or status < 300 else b""
        sock.sendall(b"HTTP/1.1 %d -\r\n%sContent-Length: %d\r\n\r\n" % (status, marker, len(body)) + body)
        return True


__all__ = ["Front", "TOKEN"]
