"""One call of 1 KiB there and back, within a program and as a program."""

import http.client
import importlib
import json
import socket
import sys
import time
from typing import Callable, List

from lab import HERE, Lab
from measure import Row, Step, rounds

TEXT = "x" * 1024
ROUNDS, BATCH = 25, 150
LIBRARY = "call through the generated library, 1 KiB"
ORIGINAL = "original's way: `requests` + single-threaded `http.server`, a connection a call"
KEPT = "`http.client` + `http.server`, HTTP/1.1, connection kept"
FLOOR = "floor: 1 KiB TCP ping-pong of two Pythons"


def timed(call: Callable[[], str]) -> Step:
    def step() -> float:
        begin = time.perf_counter()
        answer = call()
        took = time.perf_counter() - begin
        if answer != TEXT:
            raise SystemExit("bench: a call answered %.60r" % answer)
        return took
    return step


def measure(lab: Lab) -> List[Row]:
    original = "http://127.0.0.1:%s/" % lab.start(lab.python, "-I", str(HERE / "peers/original_server.py"))
    sides = {
        "original": timed(original_way(lab, original)),
        "kept": timed(kept_connection(int(lab.start(lab.python, "-I", str(HERE / "peers/keepalive_server.py"))))),
        "floor": timed(ping_pong(int(lab.start(lab.python, "-I", str(HERE / "peers/ping_server.py"))))),
    }
    isolations = ("bubblewrap", "none")
    for isolation in isolations:
        sides[isolation] = timed(library(lab, isolation))
    found = rounds(sides, ROUNDS, BATCH, warm=20)
    rows = []
    for isolation in isolations:
        for name, peer in (("original", ORIGINAL), ("kept", KEPT), ("floor", FLOOR)):
            rows.append(Row(LIBRARY, isolation, found[isolation], peer, found[name]))
    rows += by_command(lab, original)
    for isolation in isolations:
        lab.run(lab.seer, "down", isolation)
    return rows


def library(lab: Lab, isolation: str) -> Callable[[], str]:
    echo = lab.library(isolation, "interface.py", "tools_" + isolation).echo
    return lambda: echo(TEXT)


def original_way(lab: Lab, url: str) -> Callable[[], str]:
    if lab.requests not in sys.path:
        sys.path.append(lab.requests)
    requests = importlib.import_module("requests")

    def call() -> str:
        reply = requests.post(url, json={"fn": "echo", "args": [TEXT], "kwargs": {}}, timeout=30)
        reply.raise_for_status()
        return reply.json()["result"]
    return call


def kept_connection(port: int) -> Callable[[], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def call() -> str:
        body = json.dumps({"fn": "echo", "args": [TEXT], "kwargs": {}}).encode()
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())["result"]
    return call


def ping_pong(port: int) -> Callable[[], str]:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = TEXT.encode()

    def call() -> str:
        connection.sendall(data)
        return connection.recv(len(data), socket.MSG_WAITALL).decode()
    return call


def by_command(lab: Lab, url: str) -> List[Row]:
    client = str(HERE / "peers/original_client.py")
    found = rounds({
        "call": lambda: lab.run(lab.seer, "call", "bubblewrap", "tools_bubblewrap.echo", "text=" + TEXT),
        "connection": lambda: lab.run(lab.seer, "call", "--connection", str(lab.folder("libraries") / "tools_bubblewrap/connection.json"), "echo", "text=" + TEXT),
        "requests": lambda: lab.run(lab.python, client, url, TEXT, PYTHONPATH=lab.requests),
    }, 40, warm=3)
    peer = "`python3` that imports `requests` and makes the same call"
    return [
        Row("`seer call ID SERVICE.FUNCTION`, a process", "bubblewrap", found["call"], peer, found["requests"]),
        Row("`seer call --connection FILE FUNCTION`, a process", "bubblewrap", found["connection"], peer, found["requests"]),
    ]
