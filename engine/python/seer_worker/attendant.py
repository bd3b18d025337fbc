"""The thread that listens while the main thread is inside a call."""

import os
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterable, Optional

from .connection import Call, Connection
from .control import Control, ControlClosed
from .gate import Gate
from .poller import Poller

_READ_AHEAD = 1 << 20  # a client that sends calls on top of calls has to wait beyond this
_AGAIN = 5.0  # seconds until a call that did not end is interrupted again
_LONG = 3600.0
_GRACE = 3.0  # seconds for a call and for exit handlers to end


class Attendant:
    """Hears cancels, closed clients, deadlines and the runtime, and delivers results that clients take slowly.

    The main thread tells it by begin and end which call is running. Between them the call's connection belongs to
    the attendant, as does a connection while a result is unsent.
    """

    def __init__(self, control: Control, gate: Gate, adopt: Callable[[Connection], None], leave: Callable[[], None],
                 parent: int) -> None:
        self._control, self._gate, self._adopt, self._leave, self._parent = control, gate, adopt, leave, parent
        self._poller = Poller()
        self._wake, self._woken = os.pipe()[::-1]
        os.set_blocking(self._wake, False)
        self._lock = threading.Lock()
        self._current: Optional[Connection] = None
        self._call: Optional[Any] = None
        self._watched = False
        self._interrupted: Optional[object] = None
        self._again = 0.0
        self._wakes_at = 0.0
        self._sending: Dict[int, Connection] = {}
        self._stop_at = 0.0
        self._exit_code = 0

    def start(self, messages: Iterable[Dict[str, Any]]) -> None:
        """Starts the thread; messages have been read from the control socket before."""
        for message in messages:
            self._obey(message)
        self._poller.read(self._control.fd)
        self._poller.read(self._woken)
        threading.Thread(target=self._run, name="seer-attendant", daemon=True).start()

    # --- called by the main thread

    def begin_load(self, load: object) -> None:
        self._call = load

    def finish(self, code: int) -> None:
        """The main thread is about to leave; what user code left behind must not keep the process."""
        self._exit_code = code
        self._stop_at = time.monotonic() + _GRACE
        self._poke()

    def begin(self, connection: Connection, call: Call) -> None:
        if call.timeout:
            call.deadline = time.monotonic() + call.timeout
        connection.running = self._call = call
        self._current, self._watched = connection, True
        self._poller.end(connection.fd) if connection.deaf else self._poller.read(connection.fd)
        if call.deadline and call.deadline < self._wakes_at:
            self._poke()

    def end(self) -> None:
        connection = self._current
        with self._lock:
            self._current = self._call = None
            if connection is not None:
                connection.running = None
                if self._watched:
                    self._poller.forget(connection.fd)

    @property
    def delivering(self) -> bool:
        return bool(self._sending)

    def deliver(self, connection: Connection) -> None:
        """Takes over a connection with something unsent; adopt gives it back."""
        self._sending[connection.fd] = connection
        self._poller.write(connection.fd)

    # --- the thread

    def _run(self) -> None:
        try:
            _die_with_parent(self._parent)
            while True:
                pause = self._pause()
                for fd, gone in self._poller.wait(pause):
                    self._event(fd, gone)
                self._check_time()
        except BaseException:
            # Without this thread nobody hears the runtime any more: better no worker than a deaf one.
            sys.excepthook(*sys.exc_info())
            os._exit(70)

    def _pause(self) -> float:
        now = time.monotonic()
        wake = now + _LONG
        self._wakes_at = wake  # from here on, begin pokes for anything earlier
        call = self._call
        if isinstance(call, Call) and call.deadline:
            wake = min(wake, call.deadline)
        if self._interrupted is not None and self._interrupted is call:
            wake = min(wake, self._again) if wake > now else self._again
        if self._stop_at:
            wake = min(wake, self._stop_at)
        self._wakes_at = min(self._wakes_at, wake)
        return max(0.0, wake - now)

    def _event(self, fd: int, gone: bool) -> None:
        if fd == self._control.fd:
            self._hear_runtime()
        elif fd == self._woken:
            os.read(self._woken, 4096)
        elif fd in self._sending:
            self._send_on(self._sending[fd])
        else:
            self._overhear(fd, gone)

    def _overhear(self, fd: int, gone: bool) -> None:
        """Something came on the connection of the running call: more calls, a cancel, or its end."""
        with self._lock:
            connection, call = self._current, self._call
            if connection is None or connection.fd != fd or not self._watched or call is None:
                return
            if connection.deaf:
                connection.closed = True
            connection.receive()
            if connection.closed or connection.ahead > _READ_AHEAD:
                if not connection.closed and not gone:
                    self._poller.hangup(fd)
                else:
                    call.cancelled = True
                    self._poller.forget(fd)
                    self._watched = False
        if call.cancelled:
            self._interrupt(call, "cancelled")

    def _hear_runtime(self) -> None:
        try:
            for message in self._control.receive():
                self._obey(message)
        except ControlClosed:
            self._poller.forget(self._control.fd)
            self._leave()
            self._stop_at = time.monotonic() + _GRACE
            if self._call is not None:
                self._interrupt(self._call, "cancelled")

    def _obey(self, message: Dict[str, Any]) -> None:
        if message["t"] == "conn":
            fd = self._control.take_fd()
            if fd is None:
                raise ControlClosed("a connection came without its descriptor")
            try:
                sock = socket.socket(fileno=fd)
                sock.sendall(str(message.get("hello", "")).encode())  # a few bytes into an empty buffer
                self._adopt(Connection(sock))
            except OSError as e:
                print("seer: a connection could not be taken: %s" % e, file=sys.stderr)
        elif message["t"] == "cancel":
            call = self._call
            if isinstance(call, Call) and call.id == message.get("id"):
                call.cancelled = True
                self._interrupt(call, "cancelled")
        elif message["t"] == "stop":
            self._leave()
            if self._call is not None and not isinstance(self._call, Call):  # it is still loading
                self._interrupt(self._call, "cancelled")

    def _interrupt(self, call: object, reason: str) -> None:
        self._interrupted, self._again = call, time.monotonic() + _AGAIN
        self._gate.interrupt(call, reason)

    def _check_time(self) -> None:
        now, call = time.monotonic(), self._call
        if self._stop_at and now >= self._stop_at:
            os._exit(self._exit_code)
        if call is None:
            return
        if self._interrupted is call:
            if now >= self._again:  # it was swallowed, or code that is not Python is still at work
                self._interrupt(call, "cancelled" if getattr(call, "cancelled", True) else "timeout")
        elif isinstance(call, Call) and call.deadline and now >= call.deadline:
            self._interrupt(call, "timeout")

    def _send_on(self, connection: Connection) -> None:
        connection.send_rest()
        if connection.unsent is None:
            self._poller.forget(connection.fd)
            del self._sending[connection.fd]
            self._adopt(connection)

    def _poke(self) -> None:
        try:
            os.write(self._wake, b"x")
        except BlockingIOError:  # it has been woken often enough
            pass


def _die_with_parent(parent: int) -> None:
    """For a parent that is killed while code that holds the interpreter is at work here."""
    if sys.platform.startswith("linux"):
        import ctypes  # slow to import: here it costs the main thread nothing
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it was killed before we asked to be told
        os.kill(os.getpid(), signal.SIGKILL)
