"""A network with a delay: a relay of TCP that passes bytes on a while after they have come.

usage: slow_wire.py PORT SECONDS; prints the port on which it listens
"""

import queue
import socket
import sys
import threading
import time
from typing import Any


def take(source: socket.socket, on_the_way: "queue.SimpleQueue[Any]", delay: float) -> None:
    data = b"-"
    while data:
        try:
            data = source.recv(1 << 16)
        except OSError:
            data = b""
        on_the_way.put((time.monotonic() + delay, data))


def give(target: socket.socket, on_the_way: "queue.SimpleQueue[Any]") -> None:
    while True:
        due, data = on_the_way.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not data:
                return target.shutdown(socket.SHUT_WR)
            target.sendall(data)
        except OSError:
            return None


def main() -> None:
    port, delay = int(sys.argv[1]), float(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
        for source, target in ((near, far), (far, near)):
            target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            on_the_way: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
            threading.Thread(target=take, args=(source, on_the_way, delay), daemon=True).start()
            threading.Thread(target=give, args=(target, on_the_way), daemon=True).start()


if __name__ == "__main__":
    main()
