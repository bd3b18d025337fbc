"""Stands in for a worker: runs functions of the test in threads, and speaks the frames of docs/protocol.md, section 3."""

import inspect
import json
import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seer_worker.values import Unserialisable, decode, encode, value_parts

ENDED = ("done", "failed", "cancelled")


class Stopped(BaseException):
    """What a function of the fake sees when its call is cancelled."""


class Frames:
    """An end of a connection, for threads that write at the same time."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self._lock = sock, threading.Lock()

    def ready(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def read(self) -> Tuple[Dict[str, Any], bytes]:
        head, body = struct.unpack("<IQ", self._exactly(12))
        return json.loads(self._exactly(head)), self._exactly(body)

    def _exactly(self, n: int) -> bytes:
        data = bytearray()  # nothing is read ahead, so that select() tells whether there is more
        while len(data) < n:
            part = self.sock.recv(min(n - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def write(self, header: Dict[str, Any], body: bytes = b"") -> None:
        head = json.dumps(header).encode()
        with self._lock:
            self.sock.sendall(struct.pack("<IQ", len(head), len(body)) + head + body)

    def close(self) -> None:
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


class Running:
    """A call and what has come of it."""

    def __init__(self, header: Dict[str, Any], body: bytes) -> None:
        self.id, self.fn, self.options, self.body = header["id"], header["fn"], header, body
        self.events: List[Tuple[Dict[str, Any], bytes]] = []
        self.state, self.changed, self.stopped, self.acked, self.used, self.followers = "queued", threading.Condition(), False, False, 0, 0

    def add(self, kind: str, body: bytes = b"", **header: Any) -> None:
        with self.changed:
            self.events.append(({"t": kind, "id": self.id, "n": len(self.events) + 1, **header}, body))
            if kind in ("result", "error"):
                self.state = "done" if kind == "result" else "cancelled" if header["error"]["code"] == "cancelled" else "failed"
            self.changed.notify_all()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    # --- for the functions

    def print(self, text: str, stream: int = 1) -> None:
        if self.options.get("output"):
            self.add("output", text.encode(), stream=stream)

    def sleep(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self.changed:
            while not self.stopped and time.monotonic() < deadline:
                self.changed.wait(deadline - time.monotonic())
        if self.stopped:
            raise Stopped


class Service:
    """A worker with these functions. The first parameter of each is its Running."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.functions, self.calls, self.begun, self.handles = functions, {}, [], {}  # type: Dict[str, Any], Dict[str, Running], List[str], Dict
        self.lock, self.turn, self.connections, self.headers = threading.Lock(), threading.Lock(), [], []
        self.dead = False

    def connect(self) -> socket.socket:
        """The client's end of a new connection."""
        ours, theirs = socket.socketpair()
        self.serve(theirs)
        return ours

    def serve(self, sock: socket.socket, hello: bytes = b"") -> None:
        frames = Frames(sock)
        self.connections.append(frames)
        sock.sendall(hello)
        threading.Thread(target=self._read, args=(frames,), daemon=True).start()

    def cut(self) -> None:
        """Closes all connections; the calls go on."""
        while self.connections:
            self.connections.pop().close()

    def forget(self) -> None:
        """As a worker that has been started again: no call is known."""
        self.calls.clear()

    def _read(self, frames: Frames) -> None:
        try:
            delivered: List[str] = []
            while True:
                header, body = frames.read()
                self.headers.append(header)
                self._frame(frames, header, body, delivered)
        except (EOFError, OSError, ValueError, struct.error):
            return
        finally:
            frames.close()

    def _frame(self, frames: Frames, header: Dict[str, Any], body: bytes, delivered: List[str]) -> None:
        kind, call = header["t"], self.calls.get(header.get("id", ""))
        if kind == "call":
            for done in [*header.get("ack", []), *delivered]:
                self.calls[done].acked = True
            delivered.clear()
            call = self._begin(header, body)
        if kind in ("call", "attach"):
            if call is None:
                code = "interrupted" if kind == "call" else "unknown_call"
                frames.write({"t": "error", "id": header["id"], "error": {"code": code, "message": "the worker died; it is started again"}})
                return
            delivered.append(call.id)
            threading.Thread(target=self._follow, args=(frames, call, header.get("from", 1)), daemon=True).start()
        elif kind == "cancel" and call is not None:
            call.stop()
        elif kind == "ack" and call is not None:
            call.acked = True
        elif kind == "more" and call is not None:
            with call.changed:
                call.used = header["n"]
                call.changed.notify_all()
        elif kind == "calls":
            frames.write({"t": "calls", "id": header.get("id", "")}, json.dumps(self.listed(header.get("id"))).encode())

    def listed(self, call_id: Optional[str] = None) -> List[Dict[str, Any]]:
        return [{"id": c.id, "function": c.fn, "state": c.state, "detached": bool(c.options.get("detach"))}
                for c in list(self.calls.values()) if call_id in (None, c.id)]

    def _begin(self, header: Dict[str, Any], body: bytes) -> Optional[Running]:
        with self.lock:
            call = self.calls.get(header["id"])
            if call is None and not ("age" in header and self.dead):
                call = self.calls[header["id"]] = Running(header, body)
                threading.Thread(target=self._run, args=(call,), daemon=True).start()
            return call

    def _follow(self, frames: Frames, call: Running, n: int) -> None:
        call.followers += 1
        try:
            while True:
                with call.changed:
                    while len(call.events) < n:
                        if call.state == "queued" and not call.changed.wait(0.2):
                            frames.write({"t": "queued", "id": call.id, "position": 1})
                        call.changed.wait(0.5)
                    header, body = call.events[n - 1]
                frames.write(header, body)
                if header["t"] in ("result", "error"):
                    return
                n += 1
        except (OSError, ValueError):
            return
        finally:
            call.followers -= 1

    def _run(self, call: Running) -> None:
        function = self.functions.get(call.fn)
        if function is None:
            return call.add("error", error={"code": "unknown_function", "message": "no function " + call.fn})
        with self.turn if not getattr(function, "concurrent", False) else threading.Lock():
            call.state = "running"
            self.begun.append(call.id)
            try:
                if call.stopped:
                    raise Stopped
                given = decode(value_parts(call.body), call.options.get("tagged", False), lambda info: self.handles[info["id"]])
                limit = threading.Timer(call.options.get("timeout", 1e6), call.stop)
                limit.daemon = True
                limit.start()
                self._answer(call, function(call, *given["args"], **given["kwargs"]))
                limit.cancel()
            except Stopped:
                code = "timeout" if "timeout" in call.options else "cancelled"
                call.add("error", error={"code": code, "message": "it was stopped"})
            except Failed as e:
                call.add("error", error=e.args[0])
            except Exception as e:
                text = 'Traceback (most recent call last):\n  File "interface.py", line 1, in f\n%s: %s\n' % (type(e).__name__, e)
                call.add("error", error={"code": "raised", "type": type(e).__name__, "message": str(e), "traceback": text})

    def _answer(self, call: Running, value: Any) -> None:
        if inspect.isgenerator(value):
            try:
                for item in value:
                    if call.stopped:
                        value.throw(Stopped())
                    self._say(call, "item", item)
            finally:
                value.close()
            value = None
        self._say(call, "result", value)

    def _say(self, call: Running, kind: str, value: Any) -> None:
        try:
            encoded = encode(value)
        except Unserialisable as e:
            return call.add("error", error={"code": "unserialisable", "message": e.at("result")})
        body, above = b"".join(encoded.body()), 0 if call.fn == "$handle.make" else call.options.get("handle_above")
        if kind == "result" and above is not None and len(body) >= above:
            name = "h-%d" % (len(self.handles) + 1)
            self.handles[name] = value
            facts = {"id": name, "kind": "array", "type": type(value).__name__, "bytes": len(body), "preview": repr(value)[:40]}
            if hasattr(value, "shape"):
                facts.update(shape=list(value.shape), dtype=str(value.dtype), stats={"mean": float(value.mean())})
            encoded = encode({"$seer": 0})
            call.add(kind, json.dumps({"$seer": {"handle": facts}}).encode(), tagged=True)
            return
        call.add(kind, body, **({"tagged": True} if encoded.tagged else {}))


class Failed(Exception):
    """A CALL_ERROR as the function wants it."""
