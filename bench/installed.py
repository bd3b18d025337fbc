"""A change of 1 GB as it comes about: packages that pip has installed into a home."""

import time
from typing import Dict, List, Tuple

from lab import Lab
from measure import Row, rounds

FOUND = Tuple[List[Row], List[str]]
INSTALL = "python3 -m pip install -q --no-index --find-links wheels --target installed wheels/*.whl && rm -r wheels"
LOOK = "import sys; sys.path.insert(0, 'installed'); import pandas, scipy.stats, pyarrow; print(pandas.Series([1, 2]).mean())"


def measure(lab: Lab) -> FOUND:
    size: Dict[str, int] = {}

    def up(name: str, *options: str) -> float:
        return lab.run(lab.seer, "up", "--yes", str(lab.experiment("shell")), "--quiet", "--name", name, *options)

    def make(name: str) -> float:
        took = up(name)
        lab.run(lab.seer, "cp", "-r", lab.change, name + ":wheels")  # a network would take longer
        return took + lab.run(lab.seer, "exec", name, "--", "sh", "-c", INSTALL)

    def again() -> float:
        took = make("made")
        lab.run(lab.seer, "down", "made")
        return took

    def restore() -> float:
        begin = time.perf_counter()
        up("restored", "--snapshot", "installed")
        took = time.perf_counter() - begin
        if lab.output(lab.seer, "exec", "restored", "--", "python3", "-c", LOOK).strip() != "1.5":
            raise SystemExit("bench: what was restored does not work")
        size["bytes"] = int(lab.output(lab.seer, "exec", "restored", "--", "du", "-sb", "installed").split()[0])
        lab.run(lab.seer, "down", "restored")
        return took

    make("origin")
    save = lab.run(lab.seer, "snapshot", "origin", "installed")
    lab.run(lab.seer, "down", "origin")
    found = rounds({"again": again, "restore": restore}, 3, warm=0)
    lab.run(lab.seer, "snapshots", "rm", "installed")
    what = "%.2f GB that pip has installed" % (size["bytes"] / 1e9)
    peer = "`seer up` and pip again, from wheels in the sandbox"
    return [
        Row("`seer snapshot` of " + what + "; once", "bubblewrap", [[save]] * 3, peer, found["again"]),
        Row("`seer up --snapshot` with it", "bubblewrap", found["restore"], peer, found["again"]),
    ], []
