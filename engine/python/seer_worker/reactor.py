"""All that comes in: connections of clients, the runtime's control socket, and the time. Whoever waits for events serves them here."""

import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from .calls.calls import QUEUED
from .calls.delivery import Delivery
from .calls.scheduler import Scheduler
from .clock import Clock
from .transport.connection import Connection
from .transport.control import Control, ControlClosed, Listener
from .transport.fd_limit import FULL, FDLimit
from .transport.frames import Frame, FrameError
from .transport.intake import Intake
from .transport.poller import Poller

_AHEAD = 64 << 20  # bytes of arguments that may wait for one connection; beyond them it is not read
_UNREAD = 1 << 20  # bytes of short answers that one connection may leave unread
_LOOK = 0.05  # seconds between looks whether it may be read again

Obey = Callable[[Dict[str, Any], Optional[int]], None]


class Reactor:
    """Everything in it belongs to whoever holds the lock; obey takes messages of the runtime, and lost says that it stays away."""

    def __init__(self, listener: Listener, hello: Callable[[], Any], obey: Obey, lost: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.poller = Poller()
        self.connections: Dict[int, Connection] = {}
        self._scheduler: Optional[Scheduler] = None
        self._delivery: Optional[Delivery] = None
        self._clock: Optional[Clock] = None
        self._listener, self._hello, self._obey, self._lost = listener, hello, obey, lost
        self._control: Optional[Control] = None
        self.orphan = 20.0  # seconds without a runtime, after which the worker ends
        self._lost_at = time.monotonic() + self.orphan
        self._fd_limit, self._intake = FDLimit(), Intake()
        self._paused: Set[Connection] = set()
        self._stopped = False
        self._wake, self._woken = os.pipe()[::-1]
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        self.poller.read(self._woken)
        self.poller.read(listener.fd)

    def open(self, scheduler: Scheduler, delivery: Delivery, clock: Clock) -> None:
        """From now on there are calls."""
        self._scheduler, self._delivery, self._clock = scheduler, delivery, clock

    def wake(self) -> None:
        """From a thread that has changed something which the one at the poller should know."""
        try:
            os.write(self._wake, b"x")
        except BlockingIOError:
            pass

    # --- events

    def serve(self, ready: List[int]) -> None:
        """With the lock: does what the descriptors are ready for. Nobody else may have served between the poller and this."""
        for fd in ready:
            connection = self.connections.get(fd)
            if connection is not None:
                self._serve(connection)
            elif fd == self._woken:
                os.read(fd, 4096)
            elif fd == self._listener.fd:
                self._accept()
            elif self._control is not None and fd == self._control.fd:
                self._hear(self._control)

    def _serve(self, connection: Connection) -> None:
        if connection.out and self._delivery is not None:
            self._delivery.writable(connection)
        elif connection.deaf or connection.paused:
            connection.closed = True
        if not connection.paused and not connection.deaf and not connection.closed:
            frames = connection.receive()
            if connection.owner != "main":
                frames = self._heed(connection, frames)
                if self.connections.get(connection.fd) is not connection:
                    return  # it was dropped, and its number may be that of another one by now
            self._take(connection, frames)
        if connection.closed:
            self.drop(connection)

    def _heed(self, connection: Connection, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Hears what the runtime has said before these were sent: a token that it has revoked opens nothing any more."""
        connection.held.extend(frames)
        while self._control is not None and self._hear(self._control):
            pass
        return ()

    def _take(self, connection: Connection, frames: Any) -> None:
        scheduler, held = self._scheduler, connection.held
        if held:
            frames = [*held, *frames]
            held.clear()
        try:
            for i, frame in enumerate(frames):
                if scheduler is not None:
                    if (connection.listed or connection.owed > _UNREAD) and not connection.lost and not self._stopped:
                        held.extend(frames[i:])
                        self._pause(connection)
                        break
                    scheduler.frame(connection, frame)
                    if not isinstance(frame.body, bytes) or connection.ahead:
                        self._weigh(connection, frame)
        except FrameError:
            connection.closed = True
        if connection.out and not connection.writing and self._delivery is not None:
            self._delivery.watch(connection)

    def _weigh(self, connection: Connection, frame: Frame) -> None:
        connection.ahead += len(frame.body) if isinstance(frame.body, bytes) else frame.body._size
        if connection.ahead > _AHEAD and self._waiting(connection) > _AHEAD:
            self._pause(connection)

    def _pause(self, connection: Connection, pause: bool = True) -> None:
        connection.paused = pause
        (self._paused.add if pause else self._paused.discard)(connection)
        self.poller.change(connection.fd, connection.reads, connection.watched)

    def _waiting(self, connection: Connection) -> int:
        calls = self._scheduler.calls if self._scheduler is not None else {}
        waiting = [calls[id] for id in connection.followers if id in calls]
        connection.ahead = sum(c.weight for c in waiting if c.state == QUEUED)
        return connection.ahead

    def drop(self, connection: Connection) -> None:
        """Its client has gone. Nothing if it was dropped before."""
        if self.connections.get(connection.fd) is not connection:
            return
        if connection.lost:  # a call or a cancel that its client sent as its last word counts
            self._take(connection, connection.leftovers())
        self._paused.discard(connection)
        del self.connections[connection.fd]
        self.poller.forget(connection.fd)
        self._fd_limit.give(connection.owner)
        if self._scheduler is not None:
            self._scheduler.gone(connection)
        connection.close()

    def last_frames(self, all: bool = True) -> None:
        """Takes what was sent before a stop, and leaves nobody in doubt about what was sent after it. all: also on connections that
        the runtime has."""
        self._stopped = True
        for connection in [c for c in self.connections.values() if all or not c.runtime]:
            self._take(connection, connection.receive_last())
            if connection.closed:
                self.drop(connection)
            elif connection.deaf:
                self.poller.change(connection.fd, connection.reads, connection.watched)

    def hear(self) -> None:
        """There is no stop after all. Who was told so makes another connection."""
        self._stopped = False

    @property
    def sending(self) -> bool:
        """Whether somebody has not taken all of an answer yet."""
        return any(c.out for c in self.connections.values())

    # --- the runtime

    def _accept(self) -> None:
        control = self._listener.accept()
        if control is None:
            return
        while self._control is not None and self._hear(self._control):
            pass  # what the one before it said still counts
        self._end_control()
        self._control, self._lost_at = control, 0.0
        self.poller.read(control.fd)
        message, fds = self._hello()
        self.tell(message, fds)

    def _hear(self, control: Control) -> bool:
        """Whether there was anything."""
        try:
            if control.unsent:
                self._flushed(control)
            messages = control.receive()
            for message in messages:
                self._obey(message, control.take_fd() if message["t"] == "conn" else None)
            return bool(messages)
        except ControlClosed:
            self._end_control()
        return False

    def _end_control(self) -> None:
        control, self._control = self._control, None
        if control is not None:
            self.poller.forget(control.fd)
            control.close()
            self._lost_at = time.monotonic() + self.orphan

    def tell(self, message: Dict[str, Any], fds: Any = ()) -> None:
        """With the lock: to the runtime, if there is one. One that comes later has it from hello."""
        control = self._control
        if control is None:
            return
        try:
            control.send(message, fds)
            self._flushed(control)
        except ControlClosed:
            self._end_control()

    def _flushed(self, control: Control) -> None:
        control.flush()
        if bool(control.unsent) != control.watched:
            control.watched = bool(control.unsent)
            self.poller.change(control.fd, True, control.watched)

    def adopt(self, fd: Optional[int], message: Dict[str, Any], welcome: bool) -> None:
        """A connection that the runtime hands over."""
        if fd is None:
            raise ControlClosed("a connection came without its descriptor")
        try:
            sock = socket.socket(fileno=fd)
            if not welcome:
                sock.close()
                return
            connection = Connection(sock, message.get("token") or "main", message.get("client") or "", message.get("runtime") is True,
                                    self._intake)
            connection.sees_all = message.get("all") is True
            hello, fits = str(message.get("hello", "")).encode(), self._fd_limit.take(connection.owner)
            connection.send([hello if fits else FULL if hello else b""])  # a few bytes into an empty buffer
            if not fits:
                connection.close()
                return
            self.connections[connection.fd] = connection
            self.poller.read(connection.fd)
        except OSError as e:
            print("seer: a connection could not be taken: %s" % e, file=sys.stderr)

    # --- time

    def tick(self, now: float) -> float:
        """With the lock: does what is due, and tells after how many seconds to come again."""
        pause = self._clock.tick(now) if self._clock is not None else 60.0
        if self._lost_at:
            if now >= self._lost_at:
                self._lost_at = now + self.orphan
                self._lost()
            pause = min(pause, self._lost_at - now)
        if self._paused:
            for connection in list(self._paused):
                if self._waiting(connection) <= _AHEAD // 2 and not (connection.owed and connection.out):
                    self._resume(connection)
            pause = min(pause, _LOOK)
        return pause

    def _resume(self, connection: Connection) -> None:
        connection.listed, connection.owed = False, 0
        self._pause(connection, False)
        self._take(connection, ())
        if connection.closed:
            self.drop(connection)

    def forked(self) -> None:
        """In a child process, which must not keep anybody's connection open."""
        for connection in self.connections.values():
            connection.abandon()
        if self._control is not None:
            self._control.close()
        self._listener.close()
        self.poller.close()
