"""Median time of a 1 KiB call through client.py to a real worker, against a bare ping-pong of two Pythons. Run by hand."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "protocol")]

import socket  # noqa: E402

import client  # noqa: E402
from harness import serve  # noqa: E402
from standin import Front  # noqa: E402

ECHO = "import socket,sys\ns=socket.socket(fileno=int(sys.argv[1]))\nwhile True:\n d=s.recv(65536)\n if not d: break\n s.sendall(d)"
ROUNDS, CALLS = 5, 4000


def median(step) -> float:
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def main() -> None:
    text = "x" * 1000
    ours, theirs = socket.socketpair()
    echo = subprocess.Popen([sys.executable, "-I", "-c", ECHO, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()

    def ping() -> None:
        ours.sendall(text.encode())
        ours.recv(65536)

    try:
        with serve("@expose\ndef echo(text: str) -> str:\n    return text\n") as worker, Front(worker) as front:
            with client.Client(front.file) as c:
                pairs = [(median(ping), median(lambda: c.call("echo", (text,)))) for _ in range(ROUNDS)]
    finally:
        ours.close()
        echo.wait()
    for bare, call in pairs:
        print("ping-pong %.1f µs, call %.1f µs, ratio %.1f" % (bare, call, call / bare))
    print("median ratio %.2f" % statistics.median(call / bare for bare, call in pairs))


if __name__ == "__main__":
    main()
