"""The loop of the main thread: waits for calls on all connections and runs them one at a time."""

import os
import time
from collections import deque
from typing import Deque, Dict

from .attendant import Attendant
from .calls import Caller
from .connection import Connection
from .page import Page
from .poller import Poller

_DELIVERY = 3.0  # seconds for slow clients to take their results after a stop


class Service:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._poller = Poller()
        self._connections: Dict[int, Connection] = {}
        self._ready: Deque[Connection] = deque()  # their next call has been read already
        self._wake, self._woken = os.pipe()[::-1]
        self._leaving = False
        self._process = os.getpid()
        self._poller.read(self._woken)

    # --- called by the attendant

    def adopt(self, connection: Connection) -> None:
        """Takes a new connection, or one whose result has been delivered."""
        self._connections[connection.fd] = connection
        self._poller.read(connection.fd)
        if connection.calls or connection.closed:
            self._ready.append(connection)
            os.write(self._wake, b"x")

    def leave(self) -> None:
        self._leaving = True
        os.write(self._wake, b"x")

    # --- the main thread

    def run(self, caller: Caller, attendant: Attendant) -> None:
        """Serves until the runtime says stop or goes away."""
        while not self._leaving:
            # One event at a time: after a long call, whether a client is still there has to be asked anew.
            for fd, gone in self._poller.wait(0 if self._ready else -1, 1):
                connection = self._connections.get(fd)
                if fd == self._woken:
                    os.read(fd, 4096)
                elif connection is not None and gone:
                    self._drop(connection)
                elif connection is not None:
                    connection.receive()
                    self._serve(connection, caller, attendant)
            if self._ready:
                connection = self._ready.popleft()
                if self._connections.get(connection.fd) is connection:
                    self._serve(connection, caller, attendant)
        self._finish(caller, attendant)

    def _finish(self, caller: Caller, attendant: Attendant) -> None:
        """Runs what was sent before the stop, and leaves nobody in doubt about what was sent after it."""
        for connection in list(self._connections.values()):
            connection.receive_last()
            while connection.calls and self._connections.get(connection.fd) is connection and connection.unsent is None:
                self._serve(connection, caller, attendant)
        deadline = time.monotonic() + _DELIVERY
        while attendant.delivering and time.monotonic() < deadline:
            self._poller.wait(0.05, 1)

    def forked(self) -> None:
        """In a child process: lets go of the connections."""
        for connection in self._connections.values():
            connection.close()

    def _serve(self, connection: Connection, caller: Caller, attendant: Attendant) -> None:
        if connection.calls and not connection.closed:
            call = connection.calls.popleft()
            if call.cancelled:
                answer = caller.cancelled(call)
            else:
                call.read_arguments()
                self._page.start()
                attendant.begin(connection, call)
                answer = caller.answer(call)
                if os.getpid() != self._process:  # the function forked, and this is the child coming back
                    os._exit(0)
                attendant.end()
                self._page.finish()
            if not connection.closed:
                connection.send(answer.header, answer.body)
        if connection.closed:
            self._drop(connection)
        elif connection.unsent is not None:
            self._poller.forget(connection.fd)
            attendant.deliver(connection)
        elif connection.calls:
            self._ready.append(connection)

    def _drop(self, connection: Connection) -> None:
        self._poller.forget(connection.fd)
        del self._connections[connection.fd]
        connection.close()
