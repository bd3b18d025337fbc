"""A connection that the runtime has handed over to the worker: frames, with nothing in between."""

import functools
import json
import socket
import time
from typing import Any, Dict, List, Optional

from .endpoint import Cut, Info, NotReady, NotThere, NoUpgrade, Rejected, arrival, dial
from .framing import MAX_FRAME_HEADER, Event, FrameStream

HAND_OVER_SECONDS = 75.0  # the sandbox waits up to a minute for a worker that is starting
CANCEL_SECONDS = 5.0
SILENT_SECONDS, ANSWER_SECONDS = 50.0, 30.0  # without a word over a network, until the worker is asked; and until it has answered
_LINGER = 150  # seconds that a call goes on after a cut of the network; the worker's own time is for a killed client
_ASK_FIRST = 1 << 20  # a repeat of more than that asks whether the call is known before it sends it all again
_KEEPS_MUCH = 1 << 16  # an answer of more than that is acknowledged at once, so that it need not be kept


class SocketTransport:
    """One call at a time; others after it."""

    def __init__(self, info: Info) -> None:
        try:
            self._sock = dial(info)
        except (OSError, ValueError) as e:
            raise NotThere(str(e)) from None
        self._wire, self._whole, self._told, self._timeout = FrameStream(self._sock), False, 0, False
        self._carried = info.carried
        try:
            self._sock.settimeout(HAND_OVER_SECONDS)
            self._upgrade(info)
            self._sock.settimeout(None)
        except OSError as e:
            self._sock.close()
            raise Cut(str(e)) from None
        except BaseException:
            self._sock.close()
            raise
        self._comes = arrival(self._sock)

    def _upgrade(self, info: Info) -> None:
        request = ("GET %s HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: seer-frames/2\r\n\r\n"
                   % (info.path("connect"), info.token))
        self._sock.sendall(request.encode("latin-1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._some(answer)
        head, _, body = answer.partition(b"\r\n\r\n")
        words = head.split(None, 2)
        status = int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() else 0
        if status == 101:
            self._wire.rest = body
        elif status in (426, 501) or (self._carried and b"\r\nseer:" not in head.lower()):  # a tunnel has answered
            raise NoUpgrade
        else:
            refused = Rejected(status, self._body(head, body))
            raise NotReady(refused.message) if status == 503 else refused

    def _body(self, head: bytes, body: bytes) -> bytes:
        length = 0
        for line in head.lower().split(b"\r\n"):
            value = line.partition(b":")[2].strip()
            if line.startswith(b"content-length:") and value.isdigit():
                length = min(int(value), MAX_FRAME_HEADER)
        while len(body) < length:
            body += self._some(body)
        return body

    def _some(self, answer: bytes) -> bytes:
        part = self._sock.recv(1 << 16) if len(answer) <= MAX_FRAME_HEADER else b""
        if not part:
            raise Cut("it closed the connection without an answer")
        return part

    def begin(self, call: Any) -> None:
        """Makes the call, or asks for it again."""
        self._whole, self._told = False, call.used
        if call.deadline is not None:
            self._limit(call.deadline)
        elif self._timeout:
            self._limit(None)
        if call.attach or (call.begun and call.known and call.size > _ASK_FIRST):
            call.known = False
            self._wire.write(b'{"t":"attach","id":"%s","from":%d}' % (call.id.encode(), call.next))
        else:
            self._wire.write(_call_header(call, b',"linger":%d' % _LINGER if self._carried else b""), call.body, call.size)
        self._whole = True

    def event(self, call: Any) -> Event:
        """What comes next of the call. socket.timeout: nothing has come until its deadline."""
        if call.used > self._told and not self._wire.rest:
            self._told = call.used
            self._wire.write(b'{"t":"more","id":"%s","n":%d}' % (call.id.encode(), call.used))
        if self._carried and not self._wire.rest:
            self._await(call)
        if call.deadline is not None:
            self._limit(call.deadline)
        return self._wire.read()

    def _await(self, call: Any) -> None:
        """Waits for something. A network may be gone without a word, so that a silent one is asked."""
        left = SILENT_SECONDS if call.deadline is None else call.deadline - time.monotonic()
        if self._comes(min(max(left, 0.001), SILENT_SECONDS)):
            return
        if left <= SILENT_SECONDS and call.deadline is not None:
            raise socket.timeout
        self.ask(call)
        if not self._comes(ANSWER_SECONDS):
            raise Cut("nothing has come for %g seconds" % (SILENT_SECONDS + ANSWER_SECONDS))

    def idle(self) -> bool:
        """Whether the kept connection is still good: nothing comes on it unless it is being closed."""
        return not self._comes(0)

    def _limit(self, deadline: Optional[float]) -> None:
        self._timeout = deadline is not None
        self._sock.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))

    def ask(self, call: Any) -> None:
        """Asks how the call is; the answer is an event."""
        self._wire.write(b'{"t":"calls","id":"%s"}' % call.id.encode())

    def finish(self, call: Any, size: int) -> bool:
        """The answer has come. Whether the connection is good for another call."""
        if size > _KEEPS_MUCH and not call.attach:
            self._wire.write(b'{"t":"ack","id":"%s"}' % call.id.encode())
        return not call.attach and not self._wire.rest  # the next call would acknowledge what others may want, too

    def cancel(self, call: Any) -> bool:
        """Ends the call; False where that could not be said."""
        if not self._whole:
            return not call.begun  # what has not arrived as a whole does not begin, unless an earlier connection brought it there
        try:
            self._sock.settimeout(CANCEL_SECONDS)
            self._wire.write(b'{"t":"cancel","id":"%s"}' % call.id.encode())
            return True
        except OSError:
            return False

    def wake(self) -> None:
        """Makes another thread's event() end. What is written still leaves."""
        try:
            self._sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass

    def close(self) -> None:
        self._sock.close()


def _call_header(call: Any, more: bytes) -> bytes:
    if call.options.head:
        more += b"," + call.options.head
    if call.tagged:
        more += b',"tagged":true'
    if call.sent is not None:
        more += b',"age":%.3f,"from":%d' % (time.monotonic() - call.sent, call.next)
    acks = call.client.acknowledge()
    if acks:
        more += b',"ack":' + json.dumps(acks).encode("ascii")
    return b'{"t":"call","id":"%s","fn":%s%s}' % (call.id.encode(), function_name(call.fn), more)


@functools.lru_cache(maxsize=None)
def function_name(fn: str) -> bytes:
    """As it stands in a header."""
    return json.dumps(fn).encode("ascii")


def state_of(body: Any, call_id: str) -> Optional[Dict[str, Any]]:
    """The CALL of that name in the answer to ask()."""
    try:
        calls: List[Any] = json.loads(body)
        return next((c for c in calls if type(c) is dict and c.get("id") == call_id), None)
    except (ValueError, TypeError):
        return None
