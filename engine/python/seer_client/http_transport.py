"""Calls by HTTP, for where nothing can be handed over: tunnels cut requests, and a call outlives them."""

import json
import time
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote

from seer_worker.values import BodyReader

from .endpoint import Cut, Info, Rejected
from .framing import FRAME_PREFIX, Event, checked_sizes, frame_header
from .web import Http

WAIT_SECONDS = 50.0  # one request for an answer; tunnels cut those that last longer than 100 s
FIRST_PIECE, LEAST_PIECE, MOST_PIECE = 1 << 20, 1 << 16, 8 << 20  # of arguments
FAST_SECONDS, SLOW_SECONDS = 3.0, 10.0  # a piece that takes less or more
_LARGE = 1 << 16
_READ_AT_ONCE = 1 << 18  # read at once, so that a cut costs no more


class Partial:
    """A body of which a part has come."""

    def __init__(self, n: int, size: int) -> None:
        self.n, self.reader, self.have, self.size = n, BodyReader(size), 0, size

    def take(self, count: int) -> None:
        try:
            self.reader.advance(count)
        except ValueError as e:
            raise Cut("the answer breaks the protocol: %s" % e) from None
        self.have += count


class HTTPTransport:
    """One call at a time; others after it."""

    def __init__(self, info: Info) -> None:
        self.http, self._response = Http(info), None  # type: Http, Any
        self.idle, self.wake = self.http.idle, self.http.wake
        self._piece = FIRST_PIECE

    def begin(self, call: Any) -> None:
        """Makes the call, or asks for it again."""
        if call.attach or call.known:
            self._get(call)
            return
        headers = {"Accept": "application/vnd.seer.frames", "Content-Type": "application/vnd.seer.value", "Seer-Call-Id": call.id}
        if self.http.info.slow:
            call.compress()
        body, size = call.body, call.size
        if size > FIRST_PIECE and not self.http.info.local:
            self._send_pieces(call)
            headers["Seer-Call-Arguments"], body, size = str(size), [b""], 0
        headers["Seer-Call-Options"] = json.dumps(self._options(call))
        acks = call.client.acknowledge()
        if acks:
            headers["Seer-Call-Done"] = ",".join(acks)
        self._ask(call, "POST", "call/" + quote(call.fn, safe="$") + "?wait=%.3g", headers, body, size)

    def _options(self, call: Any) -> Dict[str, Any]:
        options: Dict[str, Any] = call.options.fields()
        if call.tagged:
            options["tagged"] = True
        if self.http.info.slow:
            options["deflate"] = True
        if call.sent is not None:
            options.update({"age": round(time.monotonic() - call.sent, 3), "from": call.next})
        return options

    def _get(self, call: Any) -> None:
        action = "calls/%s?wait=%%.3g&from=%d" % (call.id, call.next)
        if call.partial is not None and call.partial.n == call.next:
            action += "&skip=%d" % call.partial.have
        self._ask(call, "GET", action, {"Accept": "application/vnd.seer.frames"})

    def _ask(self, call: Any, method: str, action: str, headers: Dict[str, str], body: Any = None, size: int = 0) -> None:
        least = 0.01 if call.until is not None else 1.0
        wait = WAIT_SECONDS if call.deadline is None else min(WAIT_SECONDS, max(least, call.deadline - time.monotonic()))
        if call.submit:
            wait, headers = 0.0, {**headers, "Accept": "application/json"}
        first, call.sent = call.sent is None and method == "POST", call.sent or time.monotonic()
        try:
            response = self.http.request(method, action % wait, headers, body, size, wait)
        except Cut:
            call.begun = True  # it may have arrived all the same
            raise
        except Exception:
            if first:
                call.sent = None  # it has not left
            raise
        status = response.status
        if status == 200 and not call.submit:
            self._response, call.known = response, True
            return
        data = self.http.whole(response)[1]
        if status in (200, 202):
            call.known = True
        elif status == 422:
            self._response, call.known = _Said(data), True
        elif status == 404 and method == "GET":
            self._response = _Said(json.dumps({"error": {"code": "unknown_call", "message": Rejected(status, data).message}}).encode())
        else:
            raise Rejected(status, data).cause()

    def event(self, call: Any) -> Event:
        """What comes next of the call."""
        if self._response is None:
            self._get(call)
        if isinstance(self._response, _Said):
            said, self._response = self._response, None
            return said.event(call)
        event = self._frame(call)
        if event.kind in ("result", "error", "waiting"):
            response, self._response = self._response, None
            self.http.whole(response)
        return event

    def _frame(self, call: Any) -> Event:
        header_size, body_size = checked_sizes(self._exactly(FRAME_PREFIX.size))
        header = frame_header(self._exactly(header_size))
        if body_size <= _LARGE and "skip" not in header:
            return Event(header["t"], header, self._exactly(body_size))
        partial = call.partial
        fits = partial is not None and (header.get("n", 1), header.get("skip"), body_size) == (
            partial.n, partial.have, partial.size - partial.have)
        if not fits:
            if "skip" in header:
                raise Cut("the answer breaks the protocol")
            partial = call.partial = Partial(header.get("n", 1), body_size)
        while partial.have < partial.size:
            room = partial.reader.room()[:_READ_AT_ONCE]
            count = self.http.part(self._response.readinto, room)
            if not count:
                self._lost()
            partial.take(count)
            call.heard = time.monotonic()
        call.partial = None
        return Event(header["t"], header, partial.reader.parts())

    def _exactly(self, size: int) -> bytes:
        data: bytes = self.http.part(self._response.read, size) if size else b""
        if len(data) < size:
            self._lost()
        return data

    def _lost(self) -> None:
        self.http.close()
        raise Cut("the answer broke off")

    def _send_pieces(self, call: Any) -> None:
        """Brings the arguments there, whatever cuts the requests."""
        action = "arguments/%s?offset=%%d" % call.id
        have = self._piece_sent(action % 0, []) if call.pieces else 0
        call.pieces = True
        while have < call.size:
            piece = _slice(call.body, have, self._piece)
            last = "&eof=1" if have + self._piece >= call.size else ""
            begun = time.monotonic()
            try:
                have = self._piece_sent(action % have + last, piece)
            except Cut:
                self._piece = max(self._piece // 2, LEAST_PIECE)
                raise
            call.heard = time.monotonic()
            took = call.heard - begun
            factor = 2 if took < FAST_SECONDS else 0.5 if took > SLOW_SECONDS else 1
            self._piece = min(max(int(self._piece * factor), LEAST_PIECE), MOST_PIECE)

    def _piece_sent(self, action: str, piece: List[Any]) -> int:
        status, data = self.http.whole(self.http.request("POST", action, {}, piece or [b""], sum(map(len, piece))))
        if status != 200:
            raise Rejected(status, data).cause()
        try:
            return int(json.loads(data)["offset"])
        except (ValueError, KeyError, TypeError):
            raise Cut("the answer breaks the protocol") from None

    def ask(self, call: Any) -> None:
        """The sandbox says by itself how the call is."""

    def failed_at_once(self) -> Any:
        """The error of a call that nobody waits for, if it is over already."""
        said, self._response = self._response, None
        return said.error if isinstance(said, _Said) else None

    def finish(self, call: Any, size: int) -> bool:
        """The answer has come. Whether the connection is good for another call."""
        if not call.attach:
            call.client.done(call.id)
        return True

    def cancel(self, call: Any) -> bool:
        """Cannot be said on a connection on which an answer is coming."""
        return False

    def close(self) -> None:
        self.http.close()


class _Said:
    """An answer without frames: a call that failed at once."""

    def __init__(self, data: bytes) -> None:
        try:
            self.error = json.loads(data)["error"]
        except (ValueError, KeyError, TypeError):
            self.error = None

    def event(self, call: Any) -> Event:
        return Event("error", {"t": "error", "id": call.id, "n": call.next, "error": self.error}, b"")


def _slice(buffers: List[Any], offset: int, size: int) -> List[Any]:
    """The bytes from offset on, without a copy."""
    found: List[Any] = []
    for buffer in buffers:
        if size <= 0:
            break
        if offset < len(buffer):
            found.append(memoryview(buffer)[offset:offset + size])
            size -= len(found[-1])
        offset = max(0, offset - len(buffer))
    return found


def one_request(info: Info, method: str, action: str, seconds: Optional[float] = None) -> Tuple[int, bytes]:
    """A request on a connection of its own."""
    http = Http(info)
    try:
        if seconds is None:
            return http.whole(http.request(method, action, {}))
        return http.whole(http.request(method, action, {}, slack=seconds))
    finally:
        http.close()
