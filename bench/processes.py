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
# Both fill 500 MiB with what does not shrink. Nothing does it cheaper than drawing; what is
# computed is what processes are saved for.
DRAW = "import numpy\na = numpy.random.default_rng(7).standard_normal((8000, 8192))"
COMPUTE = """import numpy
rng, a = numpy.random.default_rng(7), numpy.empty((8000, 8192))
for row in a:
    row[:] = numpy.log(numpy.abs(numpy.fft.rfft(rng.standard_normal(16384))[:8192]))"""
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
    drawn, computed = Kernel(lab, "drawn", DRAW), Kernel(lab, "computed", COMPUTE)
    argv = [lab.seer, "up", "--yes", str(lab.experiment("gvisor")), "--quiet", "--name"]
    forks = ["fork-%d" % n for n in range(1, FORKS + 1)]

    def fork() -> float:
        took = lab.run(lab.seer, "fork", drawn.name, "-n", str(FORKS), "--name", "fork")
        same(cell(lab, forks[-1], "attach_to_session", TOUCH), drawn.want)
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

    found = rounds({"drawn again": drawn.again, "drawn saved": drawn.save, "drawn restored": drawn.restore, "computed again": computed.again,
                    "computed saved": computed.save, "computed restored": computed.restore, "fork": fork, "ups": ups}, 3)
    drawn.close()
    computed.close()
    rows = []
    for name, what, peer in (("drawn", "random numbers", "draws them again"), ("computed", "logarithmic spectra", "computes them again")):
        peer = "`seer up`, its layer there, and a cell that " + peer
        rows += [
            Row("`seer snapshot --memory` of a kernel with 500 MiB of %s" % what, "gVisor", found[name + " saved"], peer, found[name + " again"]),
            Row("`seer up --snapshot` with it, and a cell that reads all of them", "gVisor", found[name + " restored"], peer, found[name + " again"]),
        ]
    rows.append(Row("`seer fork -n %d` of the kernel with random numbers" % FORKS, "gVisor", found["fork"], "%d `seer up`s at once, with nothing in their kernels" % FORKS, found["ups"]))
    return rows, ["Saved processes and forks were measured on all %d CPUs, both sides." % len(os.sched_getaffinity(0))]


class Kernel:
    """One that holds the numbers that a cell has made, and what is done with it."""

    def __init__(self, lab: Lab, name: str, make: str) -> None:
        self.lab, self.name, self.make = lab, name, make
        self.argv = [lab.seer, "up", "--yes", str(lab.experiment("gvisor")), "--quiet", "--name"]
        self.saved = ""
        lab.run(*self.argv, name)
        self.want = cell(lab, name, "start_new_session", make, TOUCH)
        self.save()  # whatever side begins a round

    def again(self) -> float:
        begin = time.perf_counter()
        self.lab.run(*self.argv, "made")
        same(cell(self.lab, "made", "start_new_session", self.make, TOUCH), self.want)
        took = time.perf_counter() - begin
        self.lab.run(self.lab.seer, "down", "made")
        return took

    def save(self) -> float:
        before, self.saved = self.saved, "%s-%d" % (self.name, time.monotonic_ns())
        took = self.lab.run(self.lab.seer, "snapshot", self.name, self.saved, "--memory")
        if before:
            self.lab.run(self.lab.seer, "snapshots", "rm", before)
        return took

    def restore(self) -> float:
        begin = time.perf_counter()
        self.lab.run(*self.argv, "restored", "--snapshot", self.saved)
        same(cell(self.lab, "restored", "attach_to_session", TOUCH), self.want)
        took = time.perf_counter() - begin
        self.lab.run(self.lab.seer, "down", "restored")
        return took

    def close(self) -> None:
        self.lab.run(self.lab.seer, "down", self.name)
        self.lab.run(self.lab.seer, "snapshots", "rm", self.saved)


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
