"""The control socket: JSON lines, and file descriptors that travel with them. docs/protocol.md, section 6."""

import array
import json
import os
import socket
from collections import deque
from typing import Any, Deque, Dict, List, Optional, Sequence

from .frames import load_json

_MAX_FDS = 64
_LONGEST_LINE = 64 << 20


class ControlClosed(Exception):
    """The runtime has gone, or spoke nonsense."""


class Listener:
    """Where the runtime connects, and after it the next one."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._sock = socket.socket(fileno=fd)
        self._sock.setblocking(False)
        self.fd = fd

    def accept(self) -> "Optional[Control]":
        """The newest connection; None if there was none."""
        try:
            sock, _ = self._sock.accept()
            return Control(sock)
        except OSError:
            return None

    def close(self) -> None:
        """Lets go of it."""
        self._sock.close()


class Control:
    """One connection of a runtime. Belongs to whoever has the service's lock; nothing waits."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self.fd = sock.fileno()
        self.unsent = b""
        self.watched = False
        self._text = b""
        self._fds: Deque[int] = deque()

    def receive(self) -> List[Dict[str, Any]]:
        """The messages that one read completes. ControlClosed at the end."""
        try:
            data, ancillary, flags, _ = self._sock.recvmsg(64 << 10, socket.CMSG_SPACE(_MAX_FDS * 4))
        except (BlockingIOError, InterruptedError):
            return []
        except OSError as e:
            raise ControlClosed(str(e)) from None
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._take(content)
        if not data or flags & socket.MSG_CTRUNC:
            raise ControlClosed("the control socket was closed")
        *lines, self._text = (self._text + data).split(b"\n")
        if len(self._text) > _LONGEST_LINE:
            raise ControlClosed("a control line is too long")
        return [_message(line) for line in lines]

    def _take(self, content: bytes) -> None:
        fds = array.array("i")
        fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
        for fd in fds:
            os.set_inheritable(fd, False)
            self._fds.append(fd)

    def take_fd(self) -> Optional[int]:
        """The descriptor that came with the oldest message that wants one."""
        return self._fds.popleft() if self._fds else None

    def send(self, message: Dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Descriptors may go only with the first line. ControlClosed if the runtime has gone."""
        self.unsent += json.dumps(message).encode("ascii") + b"\n"
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.flush(rights)

    def flush(self, rights: Sequence[Any] = ()) -> None:
        """Sends what can be sent now; the rest is in unsent."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self._sock.sendmsg([self.unsent], rights):]
                rights = ()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as e:
            raise ControlClosed(str(e)) from None

    def close(self) -> None:
        """Also what came and was not taken."""
        self._sock.close()
        while self._fds:
            os.close(self._fds.popleft())


def _message(line: bytes) -> Dict[str, Any]:
    try:
        message = load_json(line)
    except ValueError as e:
        raise ControlClosed("a control line is not JSON: %s" % e) from None
    if type(message) is not dict or type(message.get("t")) is not str:
        raise ControlClosed("a control line needs the string t")
    return message
