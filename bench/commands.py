"""Commands in a sandbox and files into and out of it."""

import json
import os
from typing import List

from lab import Lab
from measure import Row, rounds

SIZE = 256 << 20
TRUE = "/bin/true"


def measure(lab: Lab) -> List[Row]:
    rows = []
    for isolation in ("bubblewrap", "none"):
        lab.up("commands", isolation)
        rows += commands(lab, isolation) + files(lab, isolation)
        lab.run(lab.seer, "down", "commands")
    return rows


def commands(lab: Lab, isolation: str) -> List[Row]:
    sandbox = lab.output(lab.seer, "show", "commands", "--json")
    found = rounds({
        "exec": lambda: lab.run(lab.seer, "exec", "commands", "--", TRUE),
        "true": lambda: lab.run(TRUE),
        "python": lambda: lab.run(lab.python, "-I", "-S", "-c", "pass"),
        "run": lab.timed("exec", sandbox=identity(sandbox), argv=[TRUE]),
        "spawn": lab.timed("spawn", argv=[TRUE]),
    }, 40, warm=3)
    return [
        Row("`seer exec ID -- true`, a process", isolation, found["exec"], "`true` as a subprocess", found["true"]),
        Row("`seer exec ID -- true`, a process", isolation, found["exec"], "`python3 -I -S -c pass`", found["python"]),
        Row("`Client.Run` of `true` over a kept connection, Go", isolation, found["run"], "`os/exec` of `true`, Go", found["spawn"]),
    ]


def identity(shown: str) -> str:
    return str(json.loads(shown)["id"])


def files(lab: Lab, isolation: str) -> List[Row]:
    source, copy, back = lab.root / "big", lab.root / "big.copy", lab.root / "big.back"
    if not source.exists():
        with open(str(source), "wb") as f:
            for _ in range(SIZE >> 20):
                f.write(os.urandom(1 << 20))

    def fresh(path: str, *argv: str) -> float:
        took = lab.run(*argv)
        if os.path.exists(path):
            if os.path.getsize(path) != SIZE:
                raise SystemExit("bench: %s is not whole" % path)
            os.unlink(path)
        return took

    inside = "commands:/workspace/big"
    lab.run(lab.seer, "cp", str(source), inside)
    found = rounds({
        "up": lambda: lab.run(lab.seer, "cp", str(source), inside),
        "cp": lambda: fresh(str(copy), "/bin/cp", str(source), str(copy)),
        "down": lambda: fresh(str(back), lab.seer, "cp", inside, str(back)),
    }, 5)
    return [
        Row("`seer cp` of 256 MiB into the sandbox", isolation, found["up"], "`cp` on the same disk", found["cp"]),
        Row("`seer cp` of 256 MiB out of it", isolation, found["down"], "`cp` on the same disk", found["cp"]),
    ]
