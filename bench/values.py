"""Arrays, streams and many clients at once, with peers that do the same."""

import importlib
import json
import os
import resource
import socket
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
from calls import FLOOR, TEXT, kept_connection, original_way, ping_pong, timed
from lab import HERE, Lab
from measure import Row, Step, rounds
from peers.raw_server import HEAD

ROUNDS, BATCH = 15, 100
MEGABYTES_16, GIGABYTE = 4 << 20, 256 << 20  # of float32
WAITING = 1000
RAW_16 = "raw socket, the same 16 MB there and back"
RAW_GIGABYTE = "raw socket, the same 1 GB"
LISTS = "the same numbers as JSON lists, through Seer"


def measure(lab: Lab) -> Tuple[List[Row], List[str]]:
    lab.use_peers()
    rows: List[Row] = []
    notes: List[str] = []
    for isolation in ("bubblewrap", "none"):
        tools = lab.library(isolation, "interface_values.py", "values_" + isolation)
        rows += one_call(lab, isolation, tools)
        if isolation == "bubblewrap":
            rows += arrays(lab, isolation, tools, notes)
            rows += many_clients(lab, isolation)
            notes.append(waiting(lab, isolation))
        lab.run(lab.seer, "down", isolation)
    return rows, notes


def one_call(lab: Lab, isolation: str, tools: Any) -> List[Row]:
    peers: Dict[str, Tuple[str, Callable[[], str]]] = {
        "floor": (FLOOR, ping_pong(server(lab, "ping_server"))),
        "rpyc": ("rpyc", rpyc_way(server(lab, "rpyc_server"))),
        "grpc": ("grpcio", grpc_way(server(lab, "grpc_server"))),
        "fastapi": ("FastAPI + uvicorn, `requests.Session`", fastapi_way(lab, server(lab, "fastapi_server"))),
        "original": ("original's way", original_way(lab, "http://127.0.0.1:%d/" % server(lab, "original_server"))),
        "kept": ("`http.client` + `http.server`, kept", kept_connection(server(lab, "keepalive_server"))),
    }
    sides: Dict[str, Step] = {name: timed(call) for name, (_, call) in peers.items()}
    sides["ours"] = timed(lambda: tools.echo(TEXT))
    sides["stream"] = first_item(tools)
    found = rounds(sides, ROUNDS, BATCH, warm=20)
    rows = [Row("call through the library, 1 KiB", isolation, found["ours"], what, found[name]) for name, (what, _) in peers.items()]
    rows.append(Row("first item of a stream", isolation, found["stream"], FLOOR, found["floor"]))
    return rows


def server(lab: Lab, name: str) -> int:
    return int(lab.start(lab.python, str(HERE / "peers" / (name + ".py"))))


def rpyc_way(port: int) -> Callable[[], str]:
    import rpyc
    connection = rpyc.connect("127.0.0.1", port)
    return lambda: connection.root.echo(TEXT)


def grpc_way(port: int) -> Callable[[], str]:
    import grpc
    echo = grpc.insecure_channel("127.0.0.1:%d" % port).unary_unary("/bench/Echo")
    data = TEXT.encode()
    return lambda: echo(data).decode()


def fastapi_way(lab: Lab, port: int) -> Callable[[], str]:
    if lab.requests not in sys.path:
        sys.path.append(lab.requests)
    session = importlib.import_module("requests").Session()
    url = "http://127.0.0.1:%d/echo" % port
    return lambda: session.post(url, json={"text": TEXT}, timeout=30).json()["result"]


def first_item(tools: Any) -> Step:
    def step() -> float:
        begin = time.perf_counter()
        items = iter(tools.tokens(TEXT, 3))
        next(items)
        took = time.perf_counter() - begin
        if len(list(items)) != 2:
            raise SystemExit("bench: a stream was not whole")
        return took
    return step


def arrays(lab: Lab, isolation: str, tools: Any, notes: List[str]) -> List[Row]:
    raw = socket.create_connection(("127.0.0.1", server(lab, "raw_server")))
    small = np.random.default_rng(0).random(MEGABYTES_16, dtype=np.float32)

    def same(value: Any) -> None:
        if value.dtype != np.float32 or value[-1] != small[-1]:
            raise SystemExit("bench: the array is another one")

    found = rounds({
        "array": lambda: clocked(lambda: tools.back(small), same),
        "raw": lambda: clocked(lambda: transfer(raw, memoryview(small).cast("B"), small.nbytes)),
    }, 15)
    lists = small.tolist()
    listed = rounds({
        "array": lambda: clocked(lambda: tools.back(small), same),
        "lists": lambda: clocked(lambda: tools.listed(lists)),
    }, 3, warm=0)
    tools.ones(GIGABYTE)
    tools.memory()
    before = int(tools.memory())  # its peak, right after that was set back: what it holds
    large = rounds({
        "array": lambda: clocked(lambda: tools.ones(GIGABYTE), lambda v: None if len(v) == GIGABYTE else 1 / 0),
        "raw": lambda: clocked(lambda: transfer(raw, memoryview(b""), 4 * GIGABYTE)),
    }, 3)
    peak = tools.memory() - before
    notes.append("1 GB array out: the worker's memory peaked %d MiB above what it held before, which has the array in it: %.2f copies."
                 % (peak // 1024, peak / (1 << 20)))
    raw.close()
    return [
        Row("16 MB of float32 there and back", isolation, found["array"], RAW_16, found["raw"]),
        Row("16 MB of float32 there and back", isolation, listed["array"], LISTS, listed["lists"]),
        Row("1 GB of float32 out", isolation, large["array"], RAW_GIGABYTE, large["raw"]),
    ]


def clocked(work: Callable[[], Any], check: Callable[[Any], Any] = lambda _: None) -> float:
    begin = time.perf_counter()
    value = work()
    took = time.perf_counter() - begin
    check(value)
    return took


def transfer(connection: socket.socket, data: memoryview, wanted: int) -> memoryview:
    connection.sendall(HEAD.pack(len(data), wanted))
    connection.sendall(data)
    here = memoryview(np.empty(wanted, dtype=np.uint8))
    got = 0
    while got < wanted:
        got += connection.recv_into(here[got:])
    return here


def many_clients(lab: Lab, isolation: str) -> List[Row]:
    count = 100
    ours = load(lab, str(count), "seer", str(lab.folder("libraries")), "values_" + isolation, "echo")
    theirs = load(lab, str(count), "http", str(server(lab, "fastapi_server")))
    found = rounds({"ours": ours, "theirs": theirs}, 10)
    peer = "FastAPI + uvicorn, `http.client`, kept"
    return [Row("1,600 calls of 16 clients, concurrent function", isolation, found["ours"], peer, found["theirs"])]


def load(lab: Lab, *argv: str) -> Step:
    process = subprocess.Popen([lab.python, str(HERE / "peers/load.py"), *argv], env=lab.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               universal_newlines=True)
    lab.processes.append(process)
    assert process.stdin and process.stdout
    if process.stdout.readline() != "ready\n":
        raise SystemExit("bench: the clients did not start")

    def step() -> float:
        assert process.stdin and process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())
    return step


def waiting(lab: Lab, isolation: str) -> str:
    """Memory for each of 1,000 calls over HTTP that wait for their turn, each on a connection of its own."""
    with open(str(lab.folder("libraries") / ("values_" + isolation) / "connection.json")) as f:
        place = json.load(f)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    pids = [process(lab, "seer-runtime-"), process(lab, "seer_worker_main.py")]
    before = [settled(pid) for pid in pids]
    calls = [waiter(place, n) for n in range(WAITING)]
    try:
        after = [settled(pid) for pid in pids]
    finally:
        for call in calls:
            call.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    each = [(b - a) / WAITING for a, b in zip(before, after)]
    return "1,000 calls over HTTP that wait for their turn: %.1f KiB each in the runtime, %.1f KiB in the worker." % tuple(each)


def waiter(place: Dict[str, str], n: int) -> socket.socket:
    call = socket.socket(socket.AF_UNIX)
    call.connect(place["endpoint"].partition(":")[2])
    body = b'{"args":[60],"kwargs":{}}'
    head = ("POST /v1/services/%s/call/wait?wait=50 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nSeer-Call-Id: bench-%d-%d\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (place["service"], place["token"], os.getpid(), n, len(body)))
    call.sendall(head.encode() + body)
    return call


def settled(pid: int) -> int:
    """KiB that a process holds, once that changes no more."""
    last = -1
    while True:
        with open("/proc/%d/status" % pid) as f:
            now = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        if now == last:
            return now
        last = now
        time.sleep(1.0)


def process(lab: Lab, word: str) -> int:
    """The one with the word in its command line or name that belongs to the lab's only sandbox."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                mine = b"SEER_MACHINE=" in f.read()
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                named = word.encode() in f.read()
            with open("/proc/%s/mountinfo" % pid) as f:
                mine = mine and str(lab.root) in f.read()
        except OSError:
            continue
        if mine and named:
            return int(pid)
    raise SystemExit("bench: there is no process of %s" % word)
