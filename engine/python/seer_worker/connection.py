"""A connection that speaks frames."""

import socket
from collections import deque
from typing import Any, Deque, Dict, List, Optional

from . import values
from .frames import Decoder, FrameError, begin, load_json

_CHUNK = 256 << 10
_ONE_PIECE = 64 << 10  # a larger body is not copied to be sent with its header


class Call:
    """A call that has arrived. Its identity, not its id, says which one it is: clients may choose the same ids."""

    __slots__ = ("id", "function", "timeout", "tagged", "body", "args", "kwargs", "unreadable", "cancelled", "deadline")

    def __init__(self, header: Dict[str, Any], body: bytes) -> None:
        self.id: str = header["id"]
        self.function: str = header.get("fn", "") or ""
        self.timeout: float = header.get("timeout") or 0
        self.tagged = header.get("tagged") is True
        self.body = body
        self.args: List[Any] = []
        self.kwargs: Dict[str, Any] = {}
        self.unreadable = ""  # what is wrong with the arguments
        self.cancelled = False
        self.deadline = 0.0
        if not self.function or type(self.function) is not str or not _is_seconds(self.timeout):
            raise FrameError("a call needs a function's name, and its timeout must be a number of seconds")

    def read_arguments(self) -> None:
        """Takes the body apart. What came in by HTTP has its timeout and tagged there, not in the header."""
        try:
            body = load_json(self.body)
            self.body = b""
            if type(body) is not dict or type(body.get("args", [])) is not list or type(body.get("kwargs", {})) is not dict:
                raise ValueError("they must be an object with the list args and the object kwargs")
            self.args, self.kwargs = body.get("args", []), body.get("kwargs", {})
            if self.tagged or body.get("tagged") is True:
                self.args = [values.untag(v) for v in self.args]
                self.kwargs = {k: values.untag(v) for k, v in self.kwargs.items()}
            if not self.timeout and body.get("timeout_seconds"):
                self.timeout = body["timeout_seconds"]
                if not _is_seconds(self.timeout):
                    self.timeout = 0
                    raise ValueError("timeout_seconds must be a number of seconds")
        except RecursionError:
            self.unreadable = "they are nested too deeply"
        except ValueError as e:
            self.unreadable = str(e)


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e9


class Connection:
    """Used by one thread at a time; whose turn it is, the attendant decides."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self.fd = sock.fileno()
        self.calls: Deque[Call] = deque()
        self.running: Optional[Call] = None
        self.closed = False  # the client has gone, or broke the rules
        self.deaf = False  # nothing more is accepted
        self.unsent: Optional[memoryview] = None
        self._decoder = Decoder()

    @property
    def ahead(self) -> int:
        """How many bytes have been read beyond the running call."""
        return len(self._decoder) + sum(len(c.body) for c in self.calls)

    def receive(self) -> bool:
        """Reads what is there, once, and tells whether that was anything."""
        try:
            data = self._sock.recv(_CHUNK)
            for frame in self._decoder.feed(data):
                self._frame(frame.header, frame.body)
            self.closed = not data
            return not self.closed
        except (BlockingIOError, InterruptedError):
            return False
        except (OSError, FrameError):
            self.closed = True
            return False

    def receive_last(self) -> None:
        """Reads all that the client has sent, and lets it send no more.

        A client's next call fails to leave then, so the client knows that it may take it elsewhere. TCP has no such
        thing; there a call that comes in this very moment is cut off.
        """
        if self._sock.family == socket.AF_UNIX:
            try:
                self._sock.shutdown(socket.SHUT_RD)
            except OSError:
                self.closed = True
            self.deaf = True
        while not self.closed and self.receive():
            pass
        self.closed = self.closed and not self.deaf  # for the deaf it is the end of what was sent

    def _frame(self, header: Dict[str, Any], body: bytes) -> None:
        if header["t"] == "call":
            self.calls.append(Call(header, body))
        elif header["t"] == "cancel":
            for call in [self.running, *self.calls]:
                if call is not None and call.id == header["id"]:
                    call.cancelled = True
        else:
            raise FrameError("a client may send calls and cancels only")

    def send(self, header: bytes, body: bytes) -> None:
        """Sends what the client takes at once; the rest is in unsent."""
        head = begin(header, len(body))
        try:
            if len(body) <= _ONE_PIECE:
                data = head + body
                sent = self._sock.send(data)
                if sent < len(data):
                    self.unsent = memoryview(data)[sent:]
                return
            sent = self._sock.send(head, getattr(socket, "MSG_MORE", 0))
            self.unsent = memoryview(body) if sent == len(head) else memoryview(head[sent:] + body)
            self.send_rest()
        except (BlockingIOError, InterruptedError):
            self.unsent = self.unsent or memoryview(head + body)
        except OSError:
            self.closed = True

    def send_rest(self) -> None:
        """Goes on where send had to stop."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self._sock.send(self.unsent):]
            self.unsent = None
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.unsent, self.closed = None, True

    def close(self) -> None:
        self.closed = True
        self._sock.close()
