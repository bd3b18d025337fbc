"""Sixteen clients at once: load.py CALLS seer FOLDER MODULE FUNCTION | load.py CALLS http PORT.

Prints the seconds from the first call to the last, for each line on stdin once.
"""

import http.client
import importlib
import json
import os
import sys
import time
from typing import Callable

CLIENTS, TEXT = 16, "x" * 1024


def seer(folder: str, module: str, function: str) -> Callable[[], str]:
    sys.path.insert(0, folder)
    call = getattr(importlib.import_module(module), function)
    return lambda: call(TEXT)


def over_http(port: str) -> Callable[[], str]:
    connection = http.client.HTTPConnection("127.0.0.1", int(port))
    body = json.dumps({"text": TEXT}).encode()

    def call() -> str:
        connection.request("POST", "/echo", body, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())["result"]
    return call


def client(begin: int, done: int, count: int, call: Callable[[], str]) -> None:
    call()
    os.write(done, b".")
    while os.read(begin, 1):
        for _ in range(count):
            if call() != TEXT:
                os._exit(1)
        os.write(done, b".")
    os._exit(0)


def main() -> None:
    count, kind = int(sys.argv[1]), sys.argv[2]
    make = {"seer": seer, "http": over_http}[kind]
    done, end = os.pipe()
    begins = []
    for _ in range(CLIENTS):
        begin, go = os.pipe()
        if os.fork() == 0:
            for other in begins + [go, done]:
                os.close(other)
            client(begin, end, count, make(*sys.argv[3:]))
        os.close(begin)
        begins.append(go)
    wait(done)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for go in begins:
            os.write(go, b".")
        wait(done)
        print(time.perf_counter() - start, flush=True)


def wait(done: int) -> None:
    seen = 0
    while seen < CLIENTS:
        seen += len(os.read(done, CLIENTS - seen))


if __name__ == "__main__":
    main()
