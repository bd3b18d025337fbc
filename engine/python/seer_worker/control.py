"""The control socket: JSON lines, and file descriptors that travel with them. docs/protocol.md, section 5."""

import array
import os
import socket
from collections import deque
from typing import Any, Deque, Dict, List, Optional

from .frames import load_json

_MAX_FDS = 16
_LONGEST_LINE = 64 << 20


class ControlClosed(Exception):
    """The runtime has gone, or spoke nonsense."""


class Control:
    """One thread reads at a time; only the main thread writes."""

    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._sock = socket.socket(fileno=fd)
        self._sock.setblocking(True)
        self.fd = fd
        self._text = b""
        self._fds: Deque[int] = deque()

    def receive(self) -> List[Dict[str, Any]]:
        """The messages that one read completes; waits for the read. ControlClosed at the end."""
        try:
            data, ancillary, flags, _ = self._sock.recvmsg(64 << 10, socket.CMSG_SPACE(_MAX_FDS * 4))
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

    def send(self, message: bytes) -> None:
        self._sock.sendall(message + b"\n")

    def close(self) -> None:
        self._sock.close()


def _message(line: bytes) -> Dict[str, Any]:
    try:
        message = load_json(line)
    except ValueError as e:
        raise ControlClosed("a control line is not JSON: %s" % e) from None
    if type(message) is not dict or type(message.get("t")) is not str:
        raise ControlClosed("a control line needs the string t")
    return message
