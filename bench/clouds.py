"""What lies between a cloud and Seer: plugins in Wasm that ask it, and links to its machines. The clouds are fakes without their delays."""

import importlib
import os
import sys
from typing import Callable, Dict, List, Tuple

from calls import KEPT, TEXT, kept_connection, timed
from lab import HERE, Lab
from measure import Row, Step, Steps, each, in_turns, rounds
from ready import middle

SIZE = 64 << 20
INTERFACE = str(HERE / "interface.py")
BARE = "`python3 -I -S -c pass`"
CLOUDS = (("modal", "Modal"), ("runpod", "RunPod"))


def measure(lab: Lab) -> Tuple[List[Row], Dict[str, Dict[str, float]]]:
    for name, _ in CLOUDS + (("page", ""),):
        lab.cloud(name)
    rows = loads(lab) + questions(lab)
    starts, stages = ready(lab)
    rows += starts
    lab.up("near", "none")
    lab.up("far", "modal")
    rows += calls(lab) + files(lab)
    for name in ("near", "far"):
        lab.run(lab.seer, "down", name)
    return rows, stages


def loads(lab: Lab) -> List[Row]:
    """The first load compiles; all later ones of this group, in this program and in seer, find that in the same cache."""
    cache, rows = compiled_code(lab), []
    for name, _ in CLOUDS:
        plugin = "provider-" + name
        load = lab.timed("load", dir=cache, plugin=plugin)
        first = [[load()]]
        found = rounds({"load": load, "python": lambda: lab.run(lab.python, "-I", "-S", "-c", "pass")}, 10)
        rows += [
            Row("%s, first load on a computer (compiled), measured once" % plugin, "Wasm", first, "its load from the cache", found["load"]),
            Row("%s, load from the cache" % plugin, "Wasm", found["load"], BARE, found["python"]),
        ]
    return rows


def compiled_code(lab: Lab) -> str:
    """Where seer keeps it."""
    return str(lab.cache / "wasm")


def questions(lab: Lab) -> List[Row]:
    cache = compiled_code(lab)

    def observe(cloud: str, native: bool) -> Steps:
        return lab.repeated("observe", cloud=cloud, native=native, dir=cache)

    found = in_turns({
        "page": observe("page", False), "page native": observe("page", True), "get": lab.repeated("get"),
        "describe": lab.repeated("describe", cloud="page", dir=cache),
        "modal": observe("modal", False), "modal native": observe("modal", True),
    }, 20, 25, 10)
    native = "the same Go code, native, `net/http`"
    return [
        Row("one call of provider-runpod that asks nobody (Describe)", "Wasm", found["describe"], "a GET of 1 KiB, Go's `net/http`", found["get"]),
        Row("GET of 1 KiB by provider-runpod (Observe)", "Wasm", found["page"], native, found["page native"]),
        Row("GET of 1 KiB by provider-runpod (Observe)", "Wasm", found["page"], "a GET of 1 KiB, Go's `net/http`", found["get"]),
        Row("Observe of one machine by provider-modal, Modal's SDK over gRPC", "Wasm", found["modal"], "the same Go code and SDK, native", found["modal native"]),
    ]


def ready(lab: Lab) -> Tuple[List[Row], Dict[str, Dict[str, float]]]:
    """From nothing to the first result on both clouds, in turns with the same machine without a cloud."""
    out, bare = str(lab.folder("library-clouds")), str(lab.folder("containers"))
    seen: Dict[str, List[Dict[str, float]]] = {}

    def start(cloud: str) -> Step:
        def step() -> float:
            answer = lab.helper("ready", cloud=cloud, file=str(lab.experiment(cloud)), interface=INTERFACE, dir=out)
            seen.setdefault(cloud, []).append(answer["stages"])
            return float(answer["seconds"])
        return step

    found = rounds({
        "modal": start("modal"), "runpod": start("runpod"),
        "boot": lab.timed("machine", dir=bare), "call": lab.timed("machine", dir=bare, interface=INTERFACE),
    }, 7)
    rows = []
    for name, title in CLOUDS:
        what = "up → first call on %s's fake, one Go process" % title
        rows += [
            Row(what, "container", found[name], "the same container without a cloud: loader, runtime pushed and started", found["boot"]),
            Row(what, "container", found[name], "the same, the interface served and called", found["call"]),
        ]
    return rows, {name: middle(seen[name][1:]) for name, _ in CLOUDS}


def calls(lab: Lab) -> List[Row]:
    """The same calls of the same machine, through a link and not; through Modal's tunnel, which only forwards."""
    library = {name: served(lab, name) for name in ("near", "far")}
    kept = kept_connection(int(lab.start(lab.python, "-I", str(HERE / "peers/keepalive_server.py"))))
    go = in_turns({
        "near": lab.repeated("call", sandbox="near", service="tools_near"),
        "far": lab.repeated("call", sandbox="far", service="tools_far"),
        "near direct": lab.repeated("call", sandbox="near", service="tools_near", direct=True),
        "far direct": lab.repeated("call", sandbox="far", service="tools_far", direct=True),
        "pong": lab.repeated("pong"),
    }, 20, 100, 20)
    python = in_turns({
        "near": each(timed(library["near"])), "far": each(timed(library["far"])), "kept": each(timed(kept)),
    }, 20, 50, 20)
    what, direct = "`Service.Call` through a link, 1 KiB, Go", "call on a connection of its own through a link (`Client.Connect`), 1 KiB, Go"
    generated = "call through the generated library over http://, 1 KiB"
    return [
        Row(what, "container", go["far"], "the same over a Unix socket, isolation none", go["near"]),
        Row(direct, "container", go["far direct"], "the same over a Unix socket, isolation none", go["near direct"]),
        Row(direct, "container", go["far direct"], "floor: 1 KiB ping-pong over a WebSocket, Go", go["pong"]),
        Row(generated, "container", python["far"], "the same over a Unix socket, isolation none", python["near"]),
        Row(generated, "container", python["far"], KEPT, python["kept"]),
    ]


def served(lab: Lab, sandbox: str) -> Callable[[], str]:
    name, out = "tools_" + sandbox, str(lab.folder("calls-clouds"))
    lab.run(lab.seer, "serve", sandbox, INTERFACE, "--as", "library", "--name", name, "--out", out)
    if out not in sys.path:
        sys.path.insert(0, out)
    importlib.invalidate_caches()
    echo = importlib.import_module(name).echo
    return lambda: str(echo(TEXT))


def files(lab: Lab) -> List[Row]:
    source = lab.root / "big-clouds"
    source.write_bytes(os.urandom(SIZE))
    found = rounds({
        "far": lambda: lab.run(lab.seer, "cp", str(source), "far:/workspace/big"),
        "near": lambda: lab.run(lab.seer, "cp", str(source), "near:/workspace/big"),
        "put": lab.timed("put", file=str(source), dir=str(lab.root)),
    }, 5)
    what = "`seer cp` of 64 MiB into the machine through a link"
    return [
        Row(what, "container", found["far"], "a PUT of the same file over loopback, Go's `net/http`", found["put"]),
        Row(what, "container", found["far"], "`seer cp` over a Unix socket, isolation none", found["near"]),
    ]
