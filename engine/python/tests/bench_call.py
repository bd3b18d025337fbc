"""A 1 KiB call to a real worker against a bare TCP ping-pong of two Pythons, and calls of 16 clients. Run by hand."""

import json
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
from typing import Any, Callable, Dict

from harness import Worker, serve

ECHO = "import socket,sys\ns=socket.socket(fileno=int(sys.argv[1]))\nwhile True:\n d=s.recv(65536)\n if not d: break\n s.sendall(d)"
CODE = '''
@expose
def alone(text: str) -> str: return text

@expose(concurrent=True)
def beside(text: str) -> str: return text

@expose(concurrent=True)
async def task(text: str) -> str: return text
'''
TEXT = "x" * 1000
ROUNDS, CALLS, CLIENTS, MANY = 5, 3000, 16, 8000


def median(step: Callable[[], None]) -> float:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def pair() -> Any:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    for sock in (ours, theirs):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, theirs


class Caller:
    """Sends calls with next to no work of its own."""

    def __init__(self, worker: Worker, fn: str) -> None:
        self.peer = worker.connect()
        self.sock, self._fn, self._n = self.peer.sock, fn, 0
        self._body = json.dumps({"args": [TEXT], "kwargs": {}}).encode()

    def send(self) -> None:
        self._n += 1
        head = b'{"t":"call","id":"%b-%06d","fn":"%b"}' % (self.peer.name.encode(), self._n, self._fn.encode())
        self.sock.sendall(struct.pack("<IQ", len(head), len(self._body)) + head + self._body)

    def read(self) -> None:
        if b'"t":"result"' not in self.sock.recv(65536):
            raise AssertionError("no result")

    def call(self) -> None:
        self.send()
        self.read()


def many(worker: Worker, fn: str) -> float:
    """Calls a second of all clients together."""
    callers: Dict[int, Caller] = {}
    with select.epoll() as events:
        for _ in range(CLIENTS):
            caller = Caller(worker, fn)
            callers[caller.sock.fileno()] = caller
            events.register(caller.sock.fileno(), select.EPOLLIN)
            caller.send()
        done, begin = 0, time.perf_counter()
        while done < MANY:
            for fd, _ in events.poll():
                callers[fd].read()
                callers[fd].send()
                done += 1
        return done / (time.perf_counter() - begin)


def main() -> None:
    ours, theirs = pair()
    echo = subprocess.Popen([sys.executable, "-I", "-c", ECHO, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()

    def ping() -> None:
        ours.sendall(TEXT.encode())
        ours.recv(65536)

    try:
        with serve(CODE) as worker:
            for fn in ("alone", "beside", "task"):
                call = Caller(worker, fn).call
                pairs = [(median(ping), median(call)) for _ in range(ROUNDS)]
                print("%s: %.0f µs, %.2f times the ping-pong" % (fn, statistics.median(c for _, c in pairs),
                                                                 statistics.median(c / p for p, c in pairs)))
                print("%s: %.0f calls/s of %d clients" % (fn, many(worker, fn), CLIENTS))
    finally:
        ours.close()
        echo.wait()


if __name__ == "__main__":
    main()
