"""Where the service is: the connection file, and the ways to it."""

import json
import os
import select
import socket
import sys
from typing import Callable, NamedTuple
from urllib.parse import quote, urlsplit

from .errors import Interrupted, Unreachable

CONNECT_SECONDS = 15.0


class Info(NamedTuple):
    """What is in a connection file."""

    sandbox: str
    service: str
    endpoint: str
    token: str

    def unreachable(self, reason: object) -> Unreachable:
        """Before a call has begun."""
        return Unreachable("the service %s of sandbox %s cannot be reached at %s: %s; look whether the sandbox still runs; "
                           "serving the interface again makes a new connection" % (self.service, self.sandbox, self.endpoint, reason))

    def lost(self, fn: str, reason: object) -> Interrupted:
        """When it may have begun."""
        return Interrupted("the call of %s was cut off (%s); it may have had effects and was not repeated; service %s, sandbox %s; "
                           "look whether the sandbox still runs" % (fn, reason, self.service, self.sandbox))

    def path(self, action: str) -> str:
        prefix = "" if self.local else urlsplit(self.endpoint).path.rstrip("/")
        return "%s/v1/services/%s/%s" % (prefix, quote(self.service, safe=""), action)

    @property
    def local(self) -> bool:
        """Whether nothing lies in between."""
        return self.endpoint.startswith("unix:")

    @property
    def carried(self) -> bool:
        """Whether a process of this computer carries connections on, whole: `seer-runtime forward`."""
        url = urlsplit(self.endpoint)
        return url.scheme == "http" and url.hostname in ("127.0.0.1", "::1", "localhost")

    @property
    def slow(self) -> bool:
        """Whether bytes are dearer than the time to compress them."""
        return not self.local and urlsplit(self.endpoint).hostname not in ("127.0.0.1", "::1", "localhost")


def read_info(path: str) -> Info:
    """Reads a connection file."""
    try:
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        version, info = content["version"], Info(*(content[field] for field in Info._fields))
    except OSError as e:
        raise Unreachable("the connection file %s cannot be read: %s; serve the interface again to get one" % (path, e.strerror)) from None
    except (ValueError, KeyError, TypeError):
        raise Unreachable("%s is not a connection file; serve the interface again to get one" % path) from None
    if version != 1:
        raise Unreachable("%s has version %r, and this client reads version 1; make the library anew" % (path, version))
    if not all(isinstance(field, str) for field in info) or not info.endpoint.startswith(("unix:/", "http://", "https://")):
        raise Unreachable("%s is not a connection file; serve the interface again to get one" % path)
    return info


def dial(info: Info, timeout: float = CONNECT_SECONDS) -> socket.socket:
    """A connection to the runtime, or to what is before it."""
    if info.local:
        return _dial_unix(info.endpoint[len("unix:"):])
    url = urlsplit(info.endpoint)
    sock = socket.create_connection((url.hostname or "", url.port or 80), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock


def _dial_unix(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this system has no Unix sockets for Python; the sandbox must be reached over http:// or https://")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(CONNECT_SECONDS)
        if len(os.fsencode(path)) <= 103:
            sock.connect(path)
        elif not sys.platform.startswith("linux"):
            raise OSError("the path of the socket is too long for this system")
        else:  # the kernel takes no longer address, but one that starts at a descriptor of the folder
            folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                sock.connect("/proc/self/fd/%d/%s" % (folder, os.path.basename(path)))
            finally:
                os.close(folder)
        return sock
    except BlockingIOError:  # so many are waiting there that no more may: somebody is there, who does not take them just now
        sock.close()
        raise Cut("it does not take connections just now") from None
    except BaseException:
        sock.close()
        raise


def arrival(sock: socket.socket) -> Callable[[float], bool]:
    """Tells whether something comes on a connection, or its end, within seconds."""
    if not hasattr(select, "poll"):
        return lambda seconds: bool(select.select([sock], [], [], seconds)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return lambda seconds: bool(poll.poll(seconds * 1000))


# --- what may go wrong on the way; only the modules of the client see these


class Cut(Exception):
    """The connection broke. What it carried may have arrived."""


class NotThere(Exception):
    """Nothing can be connected to."""


class NoUpgrade(Exception):
    """The sandbox, or something before it, does not hand connections over."""


class NotReady(Exception):
    """The service is being started; ask again."""


class Rejected(Exception):
    """The sandbox does not take the request."""

    def __init__(self, status: int, body: bytes, message: str = "") -> None:
        self.status, self.code = status, ""
        self.message = message or "it answered with HTTP status %d" % status
        try:
            error = json.loads(body)["error"]
            self.code, self.message = str(error["code"]), str(error["message"])
        except (ValueError, KeyError, TypeError):
            pass
        if status in (401, 403) and not message:
            self.message = "the token is not accepted any more (%s)" % self.message
        super().__init__(self.message)

    def cause(self) -> Exception:
        """NotReady where asking again may help."""
        return NotReady(self.message) if self.status == 503 and self.code == "unavailable" else self
