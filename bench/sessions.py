"""Sandboxes that an agent works in: notebooks, packages, many at once."""

import json
import statistics
import time
from typing import Any, Dict, List, Tuple

import installed
import processes
import sandboxes
from barejupyter import Bare
from lab import Lab
from mcpclient import Tools
from measure import Row, rounds
from report import span

ROUNDS = 5
NOTEBOOK = "name: bench\nsandbox: {provider: local, isolation: bubblewrap, timeout: 25m, execution_mode: notebook}\n"
# Its port is compared with that of a program on this computer, whose network it shares.
SHELL = "name: bench\nsandbox: {provider: local, isolation: bubblewrap, network: host, timeout: 25m, execution_mode: cli}\n"
PACKAGES = "name: bench\nsandbox: {provider: local, isolation: bubblewrap, timeout: 25m, execution_mode: cli, python_packages: [rich, httpx]}\n"

STAGES = [
    ("read", "read the experiment, make the engine"),
    ("preflight", "preflight: plugins scanned, isolation tried, plan"),
    ("machine", "machine: ledger, folders, loader started, its socket there"),
    ("boot", "boot: runtime checked and started, layer, lease, configuration"),
    ("jupyter", "workspace, Jupyter started, until it answers"),
    ("session", "kernel started, its set-up run; the notebook of a session"),
    ("cell", "first cell"),
]


def measure(lab: Lab) -> Tuple[List[Row], List[str]]:
    for name, text in (("notebook", NOTEBOOK), ("shell", SHELL), ("packages", PACKAGES)):
        lab.experiment(name).write_text(text)
    lab.env.update(PIP_FIND_LINKS=lab.wheels, PIP_NO_INDEX="1")
    rows, notes = notebooks(lab)
    rows += packages(lab)
    for more in (sandboxes.commands, sandboxes.snapshots, installed.measure, sandboxes.crowd, processes.measure):
        found, said = more(lab)
        rows, notes = rows + found, notes + said
    return rows, notes


def notebooks(lab: Lab) -> Tuple[List[Row], List[str]]:
    plan = json.loads(lab.output(lab.seer, "plan", str(lab.experiment("notebook")), "--json"))
    built = lab.run(lab.seer, "up", "--yes", str(lab.experiment("notebook")), "--name", "first", "--quiet")
    lab.run(lab.seer, "down", "first")
    layer = plan["layer"]["folder"]
    lab_too = Bare(lab, layer)
    least = Bare(lab, layer, extensions=False)
    seen: List[Dict[str, float]] = []

    def cell() -> float:
        answer: Dict[str, Any] = lab.helper("cell", file=str(lab.experiment("notebook")))
        seen.append(answer["stages"])
        return float(answer["seconds"])

    def again() -> float:
        took = lab.run(lab.seer, "up", "--yes", str(lab.experiment("notebook")), "--name", "again")
        lab.run(lab.seer, "down", "again")
        return took

    found = rounds({"cell": cell, "bare": lab_too.once, "least": least.once, "again": again}, ROUNDS)
    what = "notebook: up → first cell, one Go process"
    rows = [
        Row(what, "bubblewrap", found["cell"], "`jupyter server` with the same extensions and a kernel in the same bubblewrap, `jupyter_client`", found["bare"]),
        Row(what, "bubblewrap", found["cell"], "the same without JupyterLab and shared documents", found["least"]),
        Row("notebook: `seer up` again", "bubblewrap", found["again"], "the first, which builds the layer from wheels on this disk; measured once", [[built]] * ROUNDS),
    ]
    rows += [round_trip(lab, lab_too)]
    return rows, [stages(seen[1:])]


def stages(seen: List[Dict[str, float]]) -> str:
    lines = ["Where the time from up to the first cell goes (medians):", "", "| stage | bubblewrap |", "|---|--:|"]
    lines += ["| %s | %s |" % (what, span(statistics.median(s.get(name, 0.0) for s in seen))) for name, what in STAGES]
    return "\n".join(lines)


def round_trip(lab: Lab, bare: Bare) -> Row:
    lab.up("cells", "notebook")
    tools = Tools(lab, "--notebook", "cells", "--out", str(lab.folder("outputs")))
    tools.call("start_new_session", experiment_name="bench")

    def execute() -> float:
        begin = time.perf_counter()
        answer = tools.call("execute_code", code="1 + 1")
        took = time.perf_counter() - begin
        if answer["state"] != "done" or answer["outputs"][0]["text"] != "2":
            raise SystemExit("bench: execute_code answered %s" % answer)
        return took

    bare.start()
    found = rounds({"ours": execute, "theirs": bare.execute}, 10, 10, warm=5)
    bare.stop()
    tools.close()
    lab.run(lab.seer, "down", "cells")
    return Row("`execute_code` of a cell, MCP, saved here and there", "bubblewrap", found["ours"], "`jupyter_client`: output and reply of a bare kernel, nothing saved", found["theirs"])


def packages(lab: Lab) -> List[Row]:
    first = lab.run(lab.seer, "up", "--yes", str(lab.experiment("packages")), "--name", "first", "--quiet")
    lab.run(lab.seer, "down", "first")
    lab.run(lab.seer, "up", "--yes", str(lab.experiment("shell")), "--name", "first", "--quiet")
    lab.run(lab.seer, "down", "first")

    def up(name: str) -> float:
        took = lab.run(lab.seer, "up", "--yes", str(lab.experiment(name)), "--name", name)
        lab.run(lab.seer, "down", name)
        return took

    found = rounds({"with": lambda: up("packages"), "without": lambda: up("shell"), "scoped": lambda: up("bubblewrap")}, 10)
    what = "`seer up` with python_packages that a layer has"
    return [
        Row(what, "bubblewrap", found["with"], "the first, which builds the layer from wheels on this disk; measured once", [[first]] * 10),
        Row(what, "bubblewrap", found["with"], "the same without python_packages", found["without"]),
        Row("`seer up`, `execution_mode: cli`", "bubblewrap", found["without"], "`seer up` of a scoped sandbox", found["scoped"]),
    ]
