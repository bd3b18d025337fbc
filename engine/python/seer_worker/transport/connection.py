"""A connection that speaks frames."""

import socket
import struct
import time
from collections import deque
from functools import partial
from typing import Any, Deque, Dict, List, Optional, Sequence

from ..values.body import Buffer
from .arrival import Arrival
from .frames import Decoder, Frame, FrameError
from .intake import Intake

_CHUNK = 64 << 10
_LARGE = 4 << 20  # read or written at once
_PIECE = 1 << 20
_PATIENCE = 0.02  # seconds that a client may take for a piece before the rest is copied
_MOST_BUFFERS = 512
_NOW = int(socket.MSG_DONTWAIT)  # the flags of the module are slow to join
_QUIET = int(getattr(socket, "MSG_NOSIGNAL", 0))
_SEND = _NOW | _QUIET


class Connection:
    """Belongs to whoever has the service's lock. Nothing in it waits, but drain, which is called without the lock."""

    __slots__ = (
        "_sock", "fd", "token", "client", "runtime", "sees_all", "followers", "closed", "lost", "deaf", "explicit", "answered", "ahead",
        "paused", "held", "owed", "listed", "out", "borrowed", "writing", "shut", "watched", "_decoder")

    def __init__(self, sock: socket.socket, token: str = "main", client: str = "", runtime: bool = False,
                 intake: Optional[Intake] = None) -> None:
        sock.setblocking(True)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self.fd = sock.fileno()
        self.token, self.client, self.runtime = token, client, runtime
        self.sees_all = False  # it may follow the calls of all tokens
        self.followers: Dict[str, Any] = {}  # by the names of their calls
        self.closed = False  # the client has gone, or broke the rules
        self.lost = False  # the client has gone, which showed when something was sent: what it said before has not been read
        self.deaf = False  # nothing more is accepted
        self.explicit = False  # the client says itself which answers have arrived
        self.answered: List[str] = []  # calls whose answers have been sent and not been acknowledged
        self.ahead = 0  # bytes of arguments that wait for their call
        self.paused = False  # nothing is read for now
        self.held: Deque[Frame] = deque()  # what has come while it is paused
        self.owed = 0  # bytes of short answers in out
        self.listed = False  # it has been given a list of calls, which is work; others go first now
        self.out: Deque[memoryview] = deque()  # what could not be sent yet
        self.borrowed = False  # some of that is memory of the user's objects
        self.writing = False  # a thread is in drain
        self.shut = False  # close was called meanwhile: that thread is to call it once more
        self.watched = False  # the poller tells when there is room
        self._decoder = Decoder()
        if intake is not None and not runtime and token != "main":
            self._decoder = Decoder(partial(intake.reader, token))

    def receive(self) -> Sequence[Frame]:
        """What has come, once. Afterwards closed says whether that was the end."""
        try:
            reader = self._decoder.reader
            if reader is None:
                data = self._sock.recv(_CHUNK, _NOW)
                if data:
                    return self._decoder.feed(data)
                self.closed = True
                return ()
            return self._decoder.filled(self._fill(reader))
        except (BlockingIOError, InterruptedError):
            return ()
        except (OSError, FrameError):
            self.closed = True
            return ()

    def _fill(self, reader: Any) -> int:
        """As much of a large body as is there."""
        n = self._sock.recv_into(reader.room()[:_LARGE], 0, _NOW)
        if not n:
            self.closed = True
        return n

    @property
    def owner(self) -> str:
        """Whose it is; nobody's where the runtime carries calls of many on it."""
        return "" if self.runtime else self.token

    @property
    def reads(self) -> Optional[bool]:
        """Whether to look for what it sends; None: not even for its end."""
        return None if self.deaf or self.paused and self.out else not self.paused

    def short(self, parts: Sequence[Buffer]) -> None:
        """Sends what costs its client next to nothing to ask for: whoever does not read it is not heard further."""
        self.send(parts)
        self.owed = self.owed + sum(map(len, parts)) if self.out else 0

    def receive_last(self) -> List[Frame]:
        """Reads all that the client has sent, and lets it send no more.

        A client's next call fails to leave then, so the client knows that it may take it elsewhere. TCP has no such
        thing; there a call that comes in this very moment is cut off.
        """
        if self.lost and not self.deaf:
            return self.leftovers()
        if self._sock.family == socket.AF_UNIX:
            try:
                self._sock.shutdown(socket.SHUT_RD)
            except OSError:
                self.closed = True
            self.deaf = True
        frames: List[Frame] = []
        while not self.closed:
            more = self.receive()
            if not more and self._decoder.reader is None:
                break
            frames += more
        self.closed = self.closed and not self.deaf  # for the deaf it is the end of what was sent
        return frames

    def leftovers(self) -> List[Frame]:
        """What a client that has gone had said before; once."""
        frames: List[Frame] = []
        if self.lost and not self.deaf:
            self.closed = self.lost = False
            while not self.closed:
                more = self.receive()
                frames += more
                if not more and not self._more():
                    break
        self.closed, self.lost = True, False
        return frames

    def _more(self) -> bool:
        """Whether there is something to read."""
        try:
            return bool(self._sock.recv(1, _NOW | int(socket.MSG_PEEK)))
        except OSError:
            return False

    # --- sending

    def send(self, parts: Sequence[Buffer], borrowed: bool = False) -> None:
        """Sends what the client takes at once; the rest is in out. borrowed: it is memory that may change."""
        if self.closed:
            return
        if self.out or self.writing:
            self.out.extend(memoryview(p) for p in parts if len(p))
            self.borrowed = self.borrowed or borrowed
            return
        try:
            if len(parts) == 1:
                sent = self._sock.send(parts[0], _SEND)
                if sent == len(parts[0]):
                    return
            else:
                sent = self._sock.sendmsg(parts[:_MOST_BUFFERS], [], _SEND)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.closed = self.lost = True
            return
        self.out.extend(_after(parts, sent))
        self.borrowed = bool(self.out) and borrowed

    def flush(self) -> None:
        """Goes on where send had to stop. Not while writing."""
        try:
            while self.out:
                self._sent(self._sock.sendmsg([self.out[i] for i in range(min(len(self.out), _MOST_BUFFERS))], [], _SEND))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.closed = self.lost = True
            self.out.clear()
        self.borrowed = False

    def own(self) -> None:
        """Copies what belongs to the user's objects, before these may change."""
        if self.borrowed and not self.writing:
            self.out = deque(memoryview(bytes(v)) for v in self.out)
            self.borrowed = False

    def drain(self, arrival: Optional[Arrival] = None) -> None:
        """Writes what is in out as long as the client takes it quickly. writing was set, and is the caller's to take back.

        arrival: some of that may still have to come, and as long as it does, a slow client holds up nothing.
        """
        try:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, int(_PATIENCE * 1e6)))
            while self.out and not self.closed:
                piece = self.out[0][:_PIECE]
                if arrival is not None:
                    arrival.wait_for(self.out[0], len(piece))
                if not self._send_quickly(piece) and (arrival is None or arrival.over):
                    break
        except OSError:
            self.closed = self.lost = True
        self.borrowed = self.borrowed and bool(self.out)

    def _send_quickly(self, piece: memoryview) -> bool:
        """Sends some of it; False if the client did not take that quickly."""
        begun = time.monotonic()
        try:
            self._sent(self._sock.send(piece, _QUIET))
        except (BlockingIOError, InterruptedError):
            return False
        return time.monotonic() - begun <= _PATIENCE

    def _sent(self, n: int) -> None:
        while n:
            first = self.out[0]
            if n < len(first):
                self.out[0] = first[n:]
                return
            n -= len(first)
            self.out.popleft()

    def close(self) -> None:
        """Ends it for both sides; a thread that writes finds out."""
        self.closed = True
        self.shut = self.writing
        if self.writing:
            try:
                self._sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        else:
            self._sock.close()

    def abandon(self) -> None:
        """In a child process: lets go of it."""
        self._sock.close()


def _after(parts: Sequence[Buffer], sent: int) -> List[memoryview]:
    """What is left of parts after so many bytes."""
    rest: List[memoryview] = []
    for part in parts:
        size = len(part)
        if sent < size:
            rest.append(memoryview(part)[sent:])
        sent = max(0, sent - size)
    return rest

