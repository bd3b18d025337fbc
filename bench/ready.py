"""From nothing to the first result, warm: everything is in the caches, no sandbox runs."""

import statistics
from typing import Any, Dict, List, Tuple

from lab import HERE, Lab
from measure import Row, Samples, rounds

ROUNDS = 10
PASS = ["-I", "-S", "-c", "pass"]
# The least that the three Pythons of a scoped sandbox cost: loader, worker, client.
LOADED = "import json, socket, inspect, ast, typing; expose = lambda f: f; exec(open(%r).read())"

STAGES = [
    ("read", "read the experiment, make the engine"),
    ("preflight", "preflight: plugins scanned, isolation tried, plan"),
    ("machine", "machine: ledger, folders, loader started, its socket there"),
    ("boot", "boot: runtime checked and started, lease, configuration"),
    ("service", "service: worker started, interface loaded and described"),
    ("expose", "expose: the surface of an interface that was exposed before"),
    ("write", "library written"),
    ("call", "first call"),
]


def measure(lab: Lab) -> Tuple[List[Row], Dict[str, Dict[str, float]]]:
    rows, stages = [], {}
    for isolation in ("bubblewrap", "none"):
        found, stages[isolation] = one(lab, isolation)
        bare = "bare start of the same isolation, `python3 -I -S -c pass`"
        rows += [
            Row("up → first call, one Go process", isolation, found["ready"], bare, found["bare"]),
            Row("up → first call, one Go process", isolation, found["ready"], "the same start, Python that imports what a worker needs and runs the interface",
                found["loaded"]),
            Row("`seer up`, `seer serve --as library`, `python3` that imports and calls", isolation, found["commands"], bare, found["bare"]),
        ]
    return rows, stages


def one(lab: Lab, isolation: str) -> Tuple[Samples, Dict[str, float]]:
    interface = str(HERE / "interface.py")
    machine, out = str(lab.folder("machine")), str(lab.folder("library"))
    seen: List[Dict[str, float]] = []

    def ready() -> float:
        answer: Dict[str, Any] = lab.helper("ready", file=str(lab.experiment(isolation)), interface=interface, dir=out)
        seen.append(answer["stages"])
        return float(answer["seconds"])

    def commands() -> float:
        up = lab.run(lab.seer, "up", "--yes", str(lab.experiment(isolation)), "--name", "ready", "--quiet")
        serve = lab.run(lab.seer, "serve", "ready", interface, "--as", "library", "--name", "bench_tools", "--out", out)
        call = lab.run(lab.python, "-c", "import bench_tools; bench_tools.echo('x')", PYTHONPATH=out)
        lab.run(lab.seer, "down", "ready")
        return up + serve + call

    if isolation == "bubblewrap":  # where its file is not shown, the interface is given as text
        loaded = "import json, socket, inspect, ast, typing; expose = lambda f: f; exec(%r)" % (HERE / "interface.py").read_text()
    else:
        loaded = LOADED % interface
    found = rounds({
        "bare": lab.timed("bare", isolation=isolation, argv=PASS, dir=machine),
        "loaded": lab.timed("bare", isolation=isolation, argv=["-I", "-c", loaded], dir=machine),
        "ready": ready,
        "commands": commands,
    }, ROUNDS)
    return found, middle(seen[1:])


def middle(seen: List[Dict[str, float]]) -> Dict[str, float]:
    """What each stage took in the middle."""
    return {name: statistics.median(s.get(name, 0.0) for s in seen) for name, _ in STAGES}
