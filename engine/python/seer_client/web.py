"""HTTP to a sandbox: the ways through tunnels and proxies, and single requests."""

import base64
import functools
import socket
import sys
from typing import Any, Dict, Iterable, Optional, Tuple
from urllib.parse import urlsplit

from .endpoint import CONNECT_SECONDS, Cut, Info, NotThere, Rejected, dial

SLACK_SECONDS = 30.0  # a request that has not been answered so long after it should have been is lost


@functools.lru_cache(maxsize=None)
def _tls() -> Any:
    import ssl
    return ssl.create_default_context()


def _http_connection(info: Info) -> Any:
    import http.client  # slow to import, and rarely needed
    url = urlsplit(info.endpoint)
    if url.scheme != "https":
        plain = http.client.HTTPConnection("sandbox" if info.local else url.netloc, timeout=CONNECT_SECONDS)
        # The same sockets as for frames, whatever they need.
        plain.connect = lambda: setattr(plain, "sock", dial(info, plain.timeout or CONNECT_SECONDS))  # type: ignore[method-assign]
        return plain
    from urllib.request import getproxies, proxy_bypass
    host, port = url.hostname or "", url.port or 443
    proxy = getproxies().get("https")
    if not proxy or proxy_bypass(host):
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=_tls())
    via = urlsplit(proxy if "//" in proxy else "//" + proxy)
    tunnelled = http.client.HTTPSConnection(via.hostname or "", via.port or 8080, timeout=CONNECT_SECONDS, context=_tls())
    headers = {}
    if via.username:
        user = "%s:%s" % (via.username, via.password or "")
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    tunnelled.set_tunnel(host, port, headers)
    return tunnelled


def _passing(status: int) -> bool:
    """Whether a tunnel says this while it does not get through."""
    return status < 400 or status in (404, 408, 429) or (status >= 500 and status not in (501, 505))


class Http:
    """Requests, one after the other, on a connection that is made again when it has to be."""

    def __init__(self, info: Info) -> None:
        self.info = info
        self._http = _http_connection(info)
        self._broken = (OSError, sys.modules["http.client"].HTTPException)

    def request(self, method: str, action: str, headers: Dict[str, str], body: Optional[Iterable[Any]] = None, size: int = 0,
                seconds: float = 0.0, slack: float = SLACK_SECONDS) -> Any:
        """The answer, of which nothing is read yet; seconds is how long the sandbox may take. Cut and NotThere may be repeated."""
        self._connect(slack)
        try:
            self._http.sock.settimeout(seconds + slack)
            headers = {"Authorization": "Bearer " + self.info.token, **headers}
            if body is not None:
                headers["Content-Length"] = str(size)
            self._http.request(method, self.info.path(action), body, headers)
            response = self._http.getresponse()
        except self._broken as e:
            self.close()
            raise Cut(str(e) or type(e).__name__) from None
        if response.getheader("Seer") is None and not self.info.local:
            self.close()  # a tunnel has answered
            if _passing(response.status):
                raise Cut("the tunnel answered with HTTP status %d" % response.status)
            raise Rejected(response.status, b"", "something before it refused the request with HTTP status %d" % response.status)
        if response.length is None and not response.chunked:
            self.close()  # http.client does not mind when headers break off
            raise Cut("the answer broke off")
        return response

    def whole(self, response: Any) -> Tuple[int, bytes]:
        """Reads an answer to its end."""
        try:
            return response.status, response.read()
        except self._broken as e:
            self.close()
            raise Cut(str(e) or type(e).__name__) from None

    def part(self, read: Any, *args: Any) -> Any:
        """Reads a part of an answer."""
        try:
            return read(*args)
        except self._broken as e:
            self.close()
            raise Cut(str(e) or type(e).__name__) from None

    def _connect(self, limit: float) -> None:
        if self._http.sock is not None:
            return
        self._http.timeout = min(limit, CONNECT_SECONDS)
        try:
            self._http.connect()
        except self._broken as e:
            self.close()
            if type(e).__name__ == "SSLCertVerificationError":
                raise Rejected(0, b"", str(e)) from None
            raise NotThere(str(e) or type(e).__name__) from None

    def idle(self) -> bool:
        """Whether the kept connection is still good."""
        sock = self._http.sock
        if sock is None:
            return False
        sock.settimeout(0)
        try:
            sock.recv(1)  # nothing is wanted; a TLS connection may have to digest a message of its own
            return False
        except OSError as e:
            return isinstance(e, BlockingIOError) or type(e).__name__ in ("SSLWantReadError", "SSLWantWriteError")

    def wake(self) -> None:
        """Makes another thread's reading end."""
        sock = self._http.sock
        try:
            if sock is not None:
                sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass

    def close(self) -> None:
        self._http.close()
