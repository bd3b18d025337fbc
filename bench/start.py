"""Whole invocations that should cost nothing: version and ls."""

import os
from typing import List

from lab import Lab
from measure import Row, rounds


def measure(lab: Lab) -> List[Row]:
    prove_no_plugin(lab)
    bare, true = [lab.python, "-I", "-S", "-c", "pass"], "/bin/true"
    sides = {
        "version": lambda: lab.run(lab.seer, "version"),
        "ls": lambda: lab.run(lab.seer, "ls"),
        "python": lambda: lab.run(*bare),
        "true": lambda: lab.run(true),
    }
    empty = rounds(sides, 100, warm=3)
    lab.up("one", "bubblewrap")
    live = rounds({"ls": sides["ls"], "python": sides["python"]}, 60, warm=3)
    lab.run(lab.seer, "down", "one")
    python, nothing = "`python3 -I -S -c pass`", "`/bin/true`"
    return [
        Row("`seer version`", "–", empty["version"], python, empty["python"]),
        Row("`seer version`", "–", empty["version"], nothing, empty["true"]),
        Row("`seer ls`, no sandbox", "–", empty["ls"], python, empty["python"]),
        Row("`seer ls`, one live sandbox", "–", live["ls"], python, live["python"]),
    ]


def prove_no_plugin(lab: Lab) -> None:
    """A pipe that nobody writes to holds whoever reads the plugin folder; a broken plugin would be reported."""
    folder = lab.folder("traps")
    os.mkfifo(str(folder / "endless.wasm"))
    (folder / "broken.wasm").write_bytes(b"\0asm, but no more")
    for command in ("version", "ls"):
        lab.run("/usr/bin/timeout", "20", lab.seer, "--plugin-dir", str(folder), command)
        said = (lab.root / "stderr").read_text()
        if "plugin" in said or "broken" in said:
            raise SystemExit("bench: seer %s looked at plugins: %s" % (command, said))
    compiled = list((lab.cache / "wasm").rglob("*")) if lab.cache.exists() else []
    if [p for p in compiled if p.is_file()]:
        raise SystemExit("bench: version or ls compiled plugins: %s" % compiled)
