"""Calls the functions of a service in a Seer sandbox. One file, standard library only, Python 3.8 or newer.

A generated library is a package with this file in it as _client.py and the connection file beside it:

    model_tools/
        __init__.py         the functions
        _client.py          this file
        connection.json     where the service is, and a token that can call it and nothing else

Its __init__.py makes one client and one line for each function:

    from ._client import Client

    _client = Client.beside(__file__)

    def embed(text, layer=-1, *more, mode="mean", **options):
        '''The docstring, as the user wrote it.'''
        return _client.call("embed", (text, layer, *more), {"mode": mode, **options})

What has a name may stand in the dict, what has none must stand in the tuple. An argument that is to keep the default
that it has in the sandbox is left out. An `async def` of the interface is called like any other function.
Importing the package connects to nothing. The connection file is read again for each new connection, so a sandbox
that has moved needs no new library.

Errors:

    SeerError
        CallError           the function failed; .code, .remote_type, .remote_traceback. Raised as a subclass of the
                            builtin that the function raised, so that `except ValueError` works
            BadArguments    the arguments do not fit the signature, or cannot be sent; also a TypeError
            CallTimeout     it took longer than `timeout`; also a TimeoutError
        Interrupted         nobody knows how far the call came: the worker or the connection died. It is never repeated
        Unreachable         the service cannot be reached, and the call has not been started; also a ConnectionError

A client may be shared by threads: each call has a connection of its own, which is kept for the next one. Ctrl-C, or
any other exception in the caller, cancels the call in the sandbox.

Where the sandbox is behind a tunnel (http:// and https://), a call has a name, and requests that are cut are made again
under it: the call runs once, however often it is asked for, and goes on meanwhile. Certificates are checked against
those of the system; SSL_CERT_FILE names others.
"""

import base64
import builtins
import functools
import itertools
import json
import math
import os
import select
import socket
import struct
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Type
from urllib.parse import quote, urlsplit

__all__ = ["BadArguments", "CallError", "CallTimeout", "Client", "Interrupted", "SeerError", "Unreachable"]

_TAG = "$seer"
_PREFIX = struct.Struct("<IQ")
_MAX_HEADER, _MAX_BODY = 1 << 20, 4 << 30
_CONNECT_SECONDS = 15.0
_HAND_OVER_SECONDS = 75.0  # the sandbox waits up to a minute for a worker that is starting
_RETRY_SECONDS = 20.0  # while a worker is being started again
_GRACE_SECONDS = 10.0  # for the sandbox to say itself that a call timed out
_WAIT_SECONDS = 50.0  # one request for an answer; tunnels cut those that last longer than 100 s
_SLACK_SECONDS = 30.0  # beyond that the request is lost
_FIRST_SECONDS = 30.0  # to get through at all
_PATIENCE_SECONDS = 300.0  # to get through again in the middle of a call
_CANCEL_SECONDS = 5.0
_KEPT = 16  # idle connections


# --- errors


class SeerError(Exception):
    """Everything that this module raises."""


class Unreachable(SeerError, ConnectionError):
    """The service cannot be reached; the call has not been started."""


class Interrupted(SeerError):
    """The call may have had effects, and has no result."""


class _RemoteTraceback(Exception):
    """Shows the traceback of the sandbox above the local one."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "in the sandbox\n" + self.text.rstrip()


class CallError(SeerError):
    """The call failed in the sandbox."""

    def __init__(self, code: str, message: str, remote_type: str = "", remote_traceback: str = "") -> None:
        # The other base may be a builtin with an __init__ of its own, which does not take this.
        self.args = (message,)
        self.code, self.remote_type, self.remote_traceback = code, remote_type, remote_traceback
        if remote_traceback:
            self.__cause__ = _RemoteTraceback(remote_traceback)

    def __str__(self) -> str:
        message = str(self.args[0])
        shown = isinstance(self, (BadArguments, CallTimeout)) or type(self).__name__ == "Remote" + self.remote_type
        return message if shown or self.code != "raised" else "%s: %s" % (self.remote_type, message)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _call_error, (self.code, self.args[0], self.remote_type, self.remote_traceback)


class BadArguments(CallError, TypeError):
    """The arguments do not fit the signature, or cannot be sent."""


class CallTimeout(CallError, TimeoutError):
    """The call took longer than its timeout, and was stopped."""


def _call_error(code: str, message: str, remote_type: str = "", remote_traceback: str = "") -> SeerError:
    if code == "interrupted":
        return Interrupted(message)
    classes: Dict[str, Type[CallError]] = {"bad_arguments": BadArguments, "timeout": CallTimeout, "raised": _class_for(remote_type)}
    return classes.get(code, CallError)(code, message, remote_type, remote_traceback)


@functools.lru_cache(maxsize=None)
def _class_for(name: str) -> Type[CallError]:
    base = getattr(builtins, name, None)
    if not isinstance(base, type) or not issubclass(base, Exception) or base is Exception:
        return CallError
    if issubclass(base, (StopIteration, StopAsyncIteration)) or hasattr(base, "derive"):
        return CallError  # they would mean something to the caller's loops; exception groups need their parts
    return type("Remote" + name, (CallError, base), {"__doc__": "A %s that was raised in the sandbox." % name})


def _error_of(error: Any) -> SeerError:
    if not isinstance(error, dict):
        return SeerError("the sandbox answered with an error that cannot be read")
    fields = (error.get("code"), error.get("message"), error.get("type"), error.get("traceback"))
    return _call_error(*(f if isinstance(f, str) else "" for f in fields))


# --- values: docs/protocol.md, section 4


class _Unsendable(Exception):
    pass


def _unknown(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return list(value)
    name = "%s.%s" % (type(value).__module__, type(value).__qualname__)
    hint = "use .tolist()" if hasattr(value, "tolist") else "send lists, dicts, strings and numbers"
    raise _Unsendable("it is or contains a %s; %s" % (name.replace("builtins.", ""), hint))


_dumps = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_unknown).encode
_dumps_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_unknown).encode


def _refuse(word: str) -> NoReturn:
    raise ValueError(word + " is not JSON")


_loads = json.JSONDecoder(parse_constant=_refuse).decode


def _tag(value: Any) -> Any:
    """Writes what JSON cannot say as tags."""
    if isinstance(value, float) and not math.isfinite(value):
        return {_TAG: {"float": "nan" if value != value else "inf" if value > 0 else "-inf"}}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_tag(v) for v in value]
    if isinstance(value, dict):
        tagged = {k: _tag(v) for k, v in value.items()}
        return {_TAG: {"dict": tagged}} if _TAG in tagged else tagged
    return value


def _untag(value: Any) -> Any:
    if type(value) is list:
        return [_untag(v) for v in value]
    if type(value) is not dict:
        return value
    if _TAG not in value or len(value) != 1:
        return {k: _untag(v) for k, v in value.items()}
    tag = value[_TAG]
    if type(tag) is dict and len(tag) == 1:
        if type(tag.get("dict")) is dict:
            return {k: _untag(v) for k, v in tag["dict"].items()}
        if tag.get("float") in ("nan", "inf", "-inf"):
            return float(tag["float"])
    raise ValueError("an unknown tag: %.80r" % (tag,))


def _result(data: bytes, tagged: bool) -> Any:
    try:
        value = _loads(str(data, "utf-8"))
        return _untag(value) if tagged else value
    except (ValueError, RecursionError) as e:
        raise SeerError("the result cannot be read: %s" % e) from None


def _unsendable(fn: str, name: str, reason: object) -> BadArguments:
    return BadArguments("bad_arguments", "the argument %s of %s cannot be sent: %s" % (name, fn, reason))


def _arguments(fn: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tuple[bytes, bool]:
    """The JSON of the arguments, and whether there are tags in it."""
    try:
        text = _dumps({"args": args, "kwargs": kwargs})
        if _TAG not in text:
            return text.encode("utf-8"), False
    except (_Unsendable, TypeError, ValueError, RecursionError, OverflowError):
        pass  # found again below, with the name of the argument
    for name, value in itertools.chain((("number %d" % (i + 1), a) for i, a in enumerate(args)), kwargs.items()):
        try:
            _dumps_ascii(_tag(value))
        except RecursionError:
            raise _unsendable(fn, name, "it is nested too deeply") from None
        except (_Unsendable, TypeError, ValueError, OverflowError) as e:
            raise _unsendable(fn, name, e) from None
    body = {"args": [_tag(a) for a in args], "kwargs": {k: _tag(v) for k, v in kwargs.items()}}
    return _dumps_ascii(body).encode("ascii"), True


# --- where the service is


class _Info(NamedTuple):
    sandbox: str
    service: str
    endpoint: str
    token: str

    def unreachable(self, reason: object) -> Unreachable:
        return Unreachable("the service %s of sandbox %s cannot be reached at %s: %s; `seer ls` shows whether the sandbox still runs, "
                           "and serving the interface again makes a new connection" % (self.service, self.sandbox, self.endpoint, reason))

    def lost(self, fn: str, reason: object) -> Interrupted:
        return Interrupted("the call of %s was cut off (%s); it may have had effects and was not repeated; service %s, sandbox %s"
                           % (fn, reason, self.service, self.sandbox))

    def path(self, action: str) -> str:
        prefix = "" if self.endpoint.startswith("unix:") else urlsplit(self.endpoint).path.rstrip("/")
        return "%s/v1/services/%s/%s" % (prefix, quote(self.service, safe=""), action)


def _read_info(path: str) -> _Info:
    try:
        with open(path, encoding="utf-8") as f:
            content = json.load(f)
        version, info = content["version"], _Info(*(content[field] for field in _Info._fields))
    except OSError as e:
        raise Unreachable("the connection file %s cannot be read: %s; serve the interface again to get one" % (path, e.strerror)) from None
    except (ValueError, KeyError, TypeError):
        raise Unreachable("%s is not a connection file; serve the interface again to get one" % path) from None
    if version != 1:
        raise Unreachable("%s has version %r, and this client reads version 1; make the library anew" % (path, version))
    if not all(isinstance(field, str) for field in info) or not info.endpoint.startswith(("unix:/", "http://", "https://")):
        raise Unreachable("%s is not a connection file; serve the interface again to get one" % path)
    return info


def _dial(info: _Info, timeout: float = _CONNECT_SECONDS) -> socket.socket:
    if info.endpoint.startswith("unix:"):
        return _dial_unix(info.endpoint[len("unix:"):])
    url = urlsplit(info.endpoint)
    sock = socket.create_connection((url.hostname or "", url.port or 80), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock


def _dial_unix(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(_CONNECT_SECONDS)
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
    except BaseException:
        sock.close()
        raise


# --- connections


class _NotStarted(Exception):
    """The request did not leave completely: it is safe to send it again."""


class _NoUpgrade(Exception):
    """The sandbox, or something before it, does not hand connections over."""


class _Busy(Exception):
    """The service is not ready; ask again."""


class _Refused(Exception):
    """An HTTP answer other than success."""

    def __init__(self, info: _Info, status: int, body: bytes) -> None:
        self.status, self.code, self.message = status, "", "it answered with HTTP status %d" % status
        try:
            error = json.loads(body)["error"]
            self.code, self.message = str(error["code"]), str(error["message"])
        except (ValueError, KeyError, TypeError):
            pass
        super().__init__(self.message)

    def final(self, info: _Info) -> Exception:
        """What the caller gets to see; _Busy where asking again may help."""
        if self.status == 503 and self.code == "unavailable":
            return _Busy(self.message)
        if self.status in (401, 403):
            return info.unreachable("the token is not accepted any more (%s)" % self.message)
        return info.unreachable(self.message)


class _Frames:
    """A connection that has been handed over to the worker."""

    def __init__(self, info: _Info) -> None:
        self._info = info
        self._sock = _dial(info)
        self._timeout: Optional[float] = None
        try:
            self._sock.settimeout(_HAND_OVER_SECONDS)
            self._upgrade(info)
            self._sock.settimeout(None)
        except BaseException:
            self._sock.close()
            raise
        self.idle = _idle_check(self._sock)

    def _upgrade(self, info: _Info) -> None:
        host = "sandbox" if info.endpoint.startswith("unix:") else urlsplit(info.endpoint).netloc
        request = "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n"
        self._sock.sendall((request % (info.path("connect"), host, info.token)).encode("latin-1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            try:
                part = self._sock.recv(1 << 16)
            except ConnectionResetError as e:
                raise _NotStarted(str(e)) from None
            if not part or len(answer) > _MAX_HEADER:
                raise _NotStarted("it closed the connection without an answer")
            answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        words = head.split(None, 2)
        status = int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() else 0
        if status == 101:
            return
        if status in (426, 501):
            raise _NoUpgrade
        refused = _Refused(info, status, self._rest(head, body))
        raise _Busy(refused.message) if status == 503 else refused

    def _rest(self, head: bytes, body: bytes) -> bytes:
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = min(int(line.partition(b":")[2]), _MAX_HEADER)
        while len(body) < length:
            part = self._sock.recv(1 << 16)
            if not part:
                break
            body += part
        return body

    def call(self, fn: str, call_id: str, body: bytes, tagged: bool, timeout: Optional[float]) -> Any:
        header = b'{"t":"call","id":"%s","fn":%s%s%s}' % (
            call_id.encode(), _function_name(fn), b',"timeout":%g' % timeout if timeout else b"", b',"tagged":true' if tagged else b"")
        wait = timeout + _GRACE_SECONDS if timeout else None
        if wait != self._timeout:
            self._sock.settimeout(wait)
            self._timeout = wait
        try:
            if len(body) <= 1 << 16:
                self._sock.sendall(_PREFIX.pack(len(header), len(body)) + header + body)
            else:
                self._sock.sendall(_PREFIX.pack(len(header), len(body)) + header)
                self._sock.sendall(body)
        except socket.timeout:
            raise _silent(fn, timeout) from None
        except OSError as e:
            raise _NotStarted(str(e)) from None
        try:
            answer, data = self._read()
        except socket.timeout:
            raise _silent(fn, timeout) from None
        except OSError as e:
            raise self._info.lost(fn, e) from None
        if answer.get("id") != call_id or answer.get("t") not in ("result", "error"):
            raise self._info.lost(fn, "the answer breaks the protocol")
        if answer["t"] == "error":
            return _Answer(False, _error_of(answer.get("error")))
        return _Answer(True, _result(data, answer.get("tagged") is True))

    def _read(self) -> Tuple[Dict[str, Any], bytes]:
        data = self._sock.recv(1 << 16)
        while len(data) < _PREFIX.size:
            data += self._more(_PREFIX.size - len(data))
        header_size, body_size = _PREFIX.unpack_from(data)
        if header_size > _MAX_HEADER or body_size > _MAX_BODY:
            raise ConnectionError("the answer is larger than the protocol allows")
        end = _PREFIX.size + header_size
        missing = end + body_size - len(data)
        if missing > 0:
            data = self._exactly(data, missing)
        elif missing < 0:
            raise ConnectionError("there is more in the answer than belongs to it")
        try:
            header = _loads(str(data[_PREFIX.size:end], "utf-8"))
        except (ValueError, RecursionError):
            header = None
        if type(header) is not dict:
            raise ConnectionError("the answer breaks the protocol")
        return header, data[end:]

    def _exactly(self, data: bytes, missing: int) -> bytes:
        parts = [data]
        while missing:
            parts.append(self._more(missing))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _more(self, most: int) -> bytes:
        part = self._sock.recv(min(most, 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        return part

    def close(self) -> None:
        self._sock.close()


class _Answer(NamedTuple):
    """The connection is fine, whatever has come out."""

    ok: bool
    value: Any


def _silent(fn: str, timeout: Optional[float]) -> CallTimeout:
    return CallTimeout("timeout", "%s did not end within %g seconds, and did not react to being stopped" % (fn, timeout or 0))


@functools.lru_cache(maxsize=None)
def _function_name(fn: str) -> bytes:
    return json.dumps(fn).encode("ascii")


def _idle_check(sock: socket.socket) -> Callable[[], bool]:
    """Tells whether a kept connection is still good: nothing comes on it unless it is being closed."""
    if not hasattr(select, "poll"):
        return lambda: not select.select([sock], [], [], 0)[0]
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return lambda: not poll.poll(0)


class _Post:
    """A connection of HTTP requests, for where nothing can be handed over. A call outlives them; it has a name."""

    def __init__(self, info: _Info, patience: float) -> None:
        import http.client  # slow to import, and rarely needed
        self._info, self._local = info, info.endpoint.startswith("unix:")
        self._patience = min(patience, _RETRY_SECONDS) if self._local else patience
        self._http = _http_connection(info)
        self._failed = (OSError, http.client.HTTPException)
        self._done: List[str] = []  # calls whose answers have come; said with the next one

    def idle(self) -> bool:
        sock = self._http.sock
        if sock is None:
            return False
        sock.settimeout(0)
        try:
            sock.recv(1)  # nothing is wanted; a TLS connection may have to digest a message of its own
            return False
        except OSError as e:
            return isinstance(e, BlockingIOError) or type(e).__name__ in ("SSLWantReadError", "SSLWantWriteError")

    def call(self, fn: str, call_id: str, body: bytes, tagged: bool, timeout: Optional[float]) -> Any:
        extra = (b',"timeout_seconds":%g' % timeout if timeout else b"") + (b',"tagged":true' if tagged else b"")
        call = _Named(fn, call_id, body[:-1] + extra + b"}", timeout)
        try:
            return self._follow(call)
        except (SeerError, _Refused, _NotStarted) as e:
            if isinstance(e, CallTimeout):
                self._cancel(call)
            raise
        except BaseException:
            self._cancel(call)
            raise

    def _follow(self, call: "_Named") -> "_Answer":
        """Asks until there is an outcome. What is cut is asked for again."""
        pause = 0.1
        while True:
            try:
                response, data = self._ask(call)
            except self._failed as e:
                self._http.close()
                if type(e).__name__ == "SSLCertVerificationError":
                    raise self._info.unreachable(e) from None
                reason = str(e) or type(e).__name__
            else:
                if self._is_ours(response):
                    call.heard, pause = time.monotonic(), 0.1
                    if response.status != 202:
                        return self._outcome(call, response.status, data)
                    call.accepted = True
                    continue
                if not _passing(response.status):
                    raise self._info.unreachable("something before it refused the request with HTTP status %d" % response.status)
                reason = "the tunnel answered with HTTP status %d" % response.status
            self._give_up(call, reason, pause)
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def _give_up(self, call: "_Named", reason: str, pause: float) -> None:
        """Raises, if trying again has lost its sense."""
        now = time.monotonic() + pause
        if self._local and call.sent is None:
            raise _NotStarted(reason)
        if call.deadline is not None and now > call.deadline:
            raise _silent(call.fn, call.timeout)
        if call.sent is None:
            if now > call.heard + min(self._patience, _FIRST_SECONDS):
                raise self._info.unreachable(reason)
        elif now > call.heard + self._patience:
            raise self._info.lost(call.fn, reason)

    def _ask(self, call: "_Named") -> Tuple[Any, bytes]:
        """One request: it begins the call, or waits for it."""
        info, wait = self._info, call.wait()
        if self._http.sock is None:
            self._http.connect()
        headers = {"Authorization": "Bearer " + info.token}
        query = "?wait=%d" % math.ceil(wait)
        self._http.sock.settimeout(wait + _SLACK_SECONDS)
        if call.accepted:
            self._http.request("GET", info.path("calls/" + call.id) + query, None, headers)
        else:
            headers.update({"Content-Type": "application/json", "Seer-Call-Id": call.id})
            if call.sent is not None:
                headers["Seer-Call-Age"] = "%.3f" % (time.monotonic() - call.sent)
            else:
                call.sent = time.monotonic()
            if self._done:
                headers["Seer-Call-Done"] = ",".join(self._done)
            self._http.request("POST", info.path("call/" + quote(call.fn, safe="")) + query, call.body, headers)
        response = self._http.getresponse()
        return response, response.read()

    def _is_ours(self, response: Any) -> bool:
        """Whether the sandbox itself has answered, and not a tunnel."""
        return response.getheader("Seer") is not None or self._local

    def _outcome(self, call: "_Named", status: int, data: bytes) -> "_Answer":
        if status == 404 and call.accepted:
            raise self._info.lost(call.fn, "the sandbox no longer knows the call: its runtime was started again")
        if status not in (200, 422):
            raise _Refused(self._info, status, data)
        self._done = [call.id]
        answer = _result(data, False)
        if status == 422:
            return _Answer(False, _error_of(answer.get("error") if type(answer) is dict else None))
        if type(answer) is not dict or "result" not in answer:
            raise SeerError("the answer to the call of %s cannot be read" % call.fn)
        return _Answer(True, _untag(answer["result"]) if answer.get("tagged") is True else answer["result"])

    def _cancel(self, call: "_Named") -> None:
        """Says that nobody waits any more. The sandbox notices it by itself too, but later."""
        self._http.close()
        if call.sent is None:
            return
        try:
            self._http.timeout = _CANCEL_SECONDS
            self._http.connect()
            self._http.sock.settimeout(_CANCEL_SECONDS)
            self._http.request("DELETE", self._info.path("calls/" + call.id), None, {"Authorization": "Bearer " + self._info.token})
            self._http.getresponse().read()
        except self._failed:
            pass
        finally:
            self._http.close()

    def close(self) -> None:
        self._http.close()


class _Named:
    """A call that is asked for until its outcome is there."""

    def __init__(self, fn: str, call_id: str, body: bytes, timeout: Optional[float]) -> None:
        self.fn, self.id, self.body, self.timeout = fn, call_id, body, timeout
        self.heard = time.monotonic()  # when the sandbox said something last
        self.deadline = None if timeout is None else self.heard + timeout + _GRACE_SECONDS
        self.sent: Optional[float] = None  # when it may have begun
        self.accepted = False

    def wait(self) -> float:
        if self.deadline is None:
            return _WAIT_SECONDS
        return min(_WAIT_SECONDS, max(1.0, self.deadline - time.monotonic()))


def _passing(status: int) -> bool:
    """Whether a tunnel says this while it does not get through."""
    return status in (404, 408, 429) or (status >= 500 and status not in (501, 505))


@functools.lru_cache(maxsize=None)
def _tls() -> Any:
    import ssl
    return ssl.create_default_context()


def _http_connection(info: _Info) -> Any:
    import http.client
    url = urlsplit(info.endpoint)
    if url.scheme != "https":
        plain = http.client.HTTPConnection("sandbox" if url.scheme == "unix" else url.netloc, timeout=_CONNECT_SECONDS)
        # The same sockets as for frames, whatever they need.
        plain.connect = lambda: setattr(plain, "sock", _dial(info, plain.timeout))  # type: ignore[method-assign]
        return plain
    from urllib.request import getproxies, proxy_bypass
    host, port = url.hostname or "", url.port or 443
    proxy = getproxies().get("https")
    if not proxy or proxy_bypass(host):
        return http.client.HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=_tls())
    via = urlsplit(proxy if "//" in proxy else "//" + proxy)
    tunnelled = http.client.HTTPSConnection(via.hostname or "", via.port or 8080, timeout=_CONNECT_SECONDS, context=_tls())
    headers = {}
    if via.username:
        user = "%s:%s" % (via.username, via.password or "")
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    tunnelled.set_tunnel(host, port, headers)
    return tunnelled


# --- the client


class Client:
    """Calls the functions of one service. Threads may share it.

    A call through a tunnel that is cut goes on once the sandbox can be reached again within patience seconds."""

    def __init__(self, connection_file: "os.PathLike[str] | str", patience: float = _PATIENCE_SECONDS) -> None:
        self._file, self._patience = os.fspath(connection_file), patience
        self._idle: List[Any] = []
        self._process = os.getpid()
        self._hand_over = True  # as long as it works
        self._new_names()

    def _new_names(self) -> None:
        """Names of calls that nobody else gives."""
        self._prefix = base64.b32encode(os.urandom(10)).decode().lower()
        self._numbers = itertools.count(1)

    @classmethod
    def beside(cls, module_file: str, name: str = "connection.json") -> "Client":
        """The client of a generated package: Client.beside(__file__). It connects with the first call."""
        return cls(os.path.join(os.path.dirname(os.path.abspath(module_file)), name))

    def call(self, fn: str, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None) -> Any:
        """Calls a function and returns its result. After timeout seconds the call is stopped; None waits for ever."""
        if timeout is not None and not 0 < timeout < 1e9:
            raise ValueError("timeout must be a number of seconds above 0, or None")
        body, tagged = _arguments(fn, args, kwargs or {})
        link = self._take()
        call_id = "%s-%d" % (self._prefix, next(self._numbers))
        if link is not None:
            try:
                return self._call(link, fn, call_id, body, tagged, timeout)
            except (_NotStarted, _Busy):
                pass  # it was closed in this very moment, or its service is being started again
        return self._call_anew(fn, call_id, body, tagged, timeout)

    def close(self) -> None:
        """Closes the kept connections. The client may be used again."""
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_idle", None):
            self.close()

    def _take(self) -> Any:
        """A kept connection that is still good."""
        if os.getpid() != self._process:  # after a fork the connections are the parent's
            self._process = os.getpid()
            self._new_names()
            self.close()
        while self._idle:
            try:
                link = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if link.idle():
                return link
            link.close()
        return None

    def _call_anew(self, fn: str, call_id: str, body: bytes, tagged: bool, timeout: Optional[float]) -> Any:
        """Over a new connection. Only what has surely not been started is tried again."""
        deadline, pause = time.monotonic() + _RETRY_SECONDS, 0.05
        while True:
            info = _read_info(self._file)
            try:
                return self._call(self._connect(info), fn, call_id, body, tagged, timeout)
            except _NoUpgrade:
                self._hand_over = False
                continue
            except (_Busy, _NotStarted) as e:
                if time.monotonic() + pause > deadline:
                    raise info.unreachable(e) from None
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _connect(self, info: _Info) -> Any:
        try:
            if self._hand_over and info.endpoint.startswith("unix:"):
                return _Frames(info)
            return _Post(info, self._patience)
        except _Refused as e:
            raise e.final(info) from None
        except (OSError, ValueError) as e:
            raise info.unreachable(e) from None

    def _call(self, link: Any, fn: str, call_id: str, body: bytes, tagged: bool, timeout: Optional[float]) -> Any:
        try:
            answer = link.call(fn, call_id, body, tagged, timeout)
        except _Refused as e:
            link.close()
            raise e.final(link._info) from None
        except BaseException:  # with Ctrl-C too: closing is what cancels the call in the sandbox
            link.close()
            raise
        if len(self._idle) < _KEPT:
            self._idle.append(link)
        else:
            link.close()
        if not answer.ok:
            raise answer.value
        return answer.value
