"""Saved processes and forks in gVisor: a kernel with 500 MiB of numbers goes on in other sandboxes."""

import os
import subprocess
import time
from typing import List, Tuple

from lab import Lab
from mcpclient import Tools
from measure import Row, rounds

FOUND = Tuple[List[Row], List[str]]
EXPERIMENT = "name: bench\nsandbox: {provider: local, isolation: gvisor, network: none, timeout: 25m, execution_mode: notebook}\n"
# The cheapest way to fill so much with what does not shrink; whatever is computed takes longer.
MAKE = "import numpy\na = numpy.random.default_rng(7).standard_normal((8000, 8192))"
TOUCH = "a.nbytes, float(a.sum())"  # reads all of it
FORKS = 4


def measure(lab: Lab) -> FOUND:
    if not os.access(str(lab.bin / "runsc"), os.X_OK):
        return [], ["Saved processes and forks were not measured, because bin/runsc is not there; `seer doctor --fix` or `scripts/setup e2e` makes it."]
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        return on_all_cpus(lab)
    finally:
        os.sched_setaffinity(0, pinned)


def on_all_cpus(lab: Lab) -> FOUND:
    """gVisor goes on while it still reads and Seer still verifies; on one CPU they would take turns."""
    lab.experiment("gvisor").write_text(EXPERIMENT)
    argv = [lab.seer, "up", str(lab.experiment("gvisor")), "--quiet", "--name"]
    forks = ["fork-%d" % n for n in range(1, FORKS + 1)]
    saved: List[str] = []
    lab.run(*argv, "origin")
    want = cell(lab, "origin", "start_new_session", MAKE, TOUCH)

    def again() -> float:
        begin = time.perf_counter()
        lab.run(*argv, "made")
        same(cell(lab, "made", "start_new_session", MAKE, TOUCH), want)
        took = time.perf_counter() - begin
        lab.run(lab.seer, "down", "made")
        return took

    def save() -> float:
        saved.append("memory-%d" % len(saved))
        took = lab.run(lab.seer, "snapshot", "origin", saved[-1], "--memory")
        if len(saved) > 1:
            lab.run(lab.seer, "snapshots", "rm", saved[-2])
        return took

    def restore() -> float:
        begin = time.perf_counter()
        lab.run(*argv, "restored", "--snapshot", saved[-1])
        same(cell(lab, "restored", "attach_to_session", TOUCH), want)
        took = time.perf_counter() - begin
        lab.run(lab.seer, "down", "restored")
        return took

    def fork() -> float:
        took = lab.run(lab.seer, "fork", "origin", "-n", str(FORKS), "--name", "fork")
        same(cell(lab, forks[-1], "attach_to_session", TOUCH), want)
        lab.run(lab.seer, "down", *forks)
        return took

    def ups() -> float:
        begin = time.perf_counter()
        started = [subprocess.Popen([*argv, name], env=lab.env, stdout=subprocess.DEVNULL) for name in forks]
        if any([p.wait() for p in started]):
            raise SystemExit("bench: not all of %d sandboxes came up" % FORKS)
        took = time.perf_counter() - begin
        lab.run(lab.seer, "down", *forks)
        return took

    save()  # whatever side begins a round
    found = rounds({"again": again, "save": save, "restore": restore, "fork": fork, "ups": ups}, 3)
    lab.run(lab.seer, "down", "origin")
    lab.run(lab.seer, "snapshots", "rm", saved[-1])
    peer = "`seer up`, its layer there, and a cell that draws them again"
    return [
        Row("`seer snapshot --memory` of a kernel with 500 MiB of normal numbers", "gVisor", found["save"], peer, found["again"]),
        Row("`seer up --snapshot` with it, and a cell that reads all of them", "gVisor", found["restore"], peer, found["again"]),
        Row("`seer fork -n %d` of that kernel" % FORKS, "gVisor", found["fork"], "%d `seer up`s at once, with nothing in their kernels" % FORKS, found["ups"]),
    ], ["Saved processes and forks were measured on all %d CPUs, both sides." % len(os.sched_getaffinity(0))]


def cell(lab: Lab, name: str, begin: str, *sources: str) -> str:
    """What the last of some cells shows, in a session that is begun or attached to."""
    tools = Tools(lab, "--notebook", name, "--out", str(lab.folder("outputs")))
    tools.call(begin, **({"experiment_name": "bench"} if begin == "start_new_session" else {}))
    text = ""
    for source in sources:
        answer = tools.call("execute_code", code=source)
        if answer["state"] != "done":
            raise SystemExit("bench: execute_code answered %s" % answer)
        text = "".join(output["text"] for output in answer["outputs"])
    tools.close()
    return text


def same(got: str, want: str) -> None:
    if got != want:
        raise SystemExit("bench: the arrays are %s, not %s" % (got, want))
