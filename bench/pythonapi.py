"""Package seer of Python: its import, its engine, a call, and many sandboxes at once."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from typing import Any, Callable, List

from calls import library, timed
from lab import HERE, TOP, Lab
from measure import Row, rounds

MANY = 20
FIRST = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1}}\n'


def measure(lab: Lab) -> List[Row]:
    shutil.copytree(TOP / "python" / "seer", lab.folder("package") / "seer", ignore=shutil.ignore_patterns("__pycache__"))
    path = str(lab.folder("package"))
    imported = rounds({
        "ours": lambda: lab.run(lab.python, "-c", "from seer.environment import Sandbox", PYTHONPATH=path),
        "empty": lambda: lab.run(lab.python, "-c", "pass", PYTHONPATH=path),
    }, 60, warm=3)
    engine = rounds({"ours": lambda: first_reply(lab), "version": lambda: lab.run(lab.seer, "version")}, 60, warm=3)
    sys.path.insert(0, path)
    os.environ.update(lab.env, SEER_PROGRAM=lab.seer)
    call = rounds_of_calls(lab)
    many = rounds({"ours": lambda: from_python(), "commands": lambda: by_commands(lab)}, 10)
    return [
        Row("`from seer.environment import Sandbox`, a process", "–", imported["ours"], "`python3 -c pass`", imported["empty"]),
        Row("`seer engine --stdio`: start and first reply", "–", engine["ours"], "`seer version`, a process", engine["version"]),
        Row("call of what `serve` returned, 1 KiB", "bubblewrap", call["api"], "the generated library, imported", call["library"]),
        Row("%d sandboxes at once, from Python" % MANY, "bubblewrap", many["ours"], "%d `seer up` at once" % MANY, many["commands"]),
    ]


def first_reply(lab: Lab) -> float:
    begin = time.perf_counter()
    process = subprocess.Popen([lab.seer, "engine", "--stdio"], env=lab.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
    assert process.stdin and process.stdout
    process.stdin.write(FIRST)
    process.stdin.flush()
    answer = process.stdout.readline()
    took = time.perf_counter() - begin
    process.communicate()
    if '"result"' not in answer:
        raise SystemExit("bench: the engine answered %.200r" % answer)
    return took


def settings() -> Any:
    from seer.environment import SandboxConfig

    return SandboxConfig(gpu=None, provider="local", isolation="bubblewrap", execution_mode=None, timeout=900)


def rounds_of_calls(lab: Lab) -> Any:
    """The same function in the same sandbox, by the object and by the library of the command."""
    from seer.environment import ScopedSandbox

    direct = library(lab, "bubblewrap")
    with ScopedSandbox(settings()) as scoped:
        tools = scoped.serve(HERE / "interface.py", name="served_tools")
        found = rounds({"api": timed(lambda: tools.echo("x" * 1024)), "library": timed(direct)}, 25, 150, warm=20)
    lab.run(lab.seer, "down", "bubblewrap")
    return found


def from_python() -> float:
    from seer.environment import Sandbox

    sandboxes = [Sandbox(settings()) for _ in range(MANY)]
    return at_once(lambda s: s.start.aio(), lambda s: s.terminate.aio(), sandboxes)


def at_once(start: Callable[[Any], Any], end: Callable[[Any], Any], of: List[Any]) -> float:
    async def all_of() -> float:
        begin = time.perf_counter()
        await asyncio.gather(*map(start, of))
        took = time.perf_counter() - begin
        await asyncio.gather(*map(end, of))
        return took
    return asyncio.run(all_of())


def by_commands(lab: Lab) -> float:
    argv = [lab.seer, "up", "--yes", str(lab.experiment("bubblewrap")), "--quiet"]
    begin = time.perf_counter()
    running = [subprocess.Popen(argv, env=lab.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(MANY)]
    failed = [p for p in running if p.wait()]
    took = time.perf_counter() - begin
    if failed:
        raise SystemExit("bench: %d of %d commands failed" % (len(failed), MANY))
    lab.run(lab.seer, "down", "--all")
    return took
