"""What is done with a running sandbox: commands, ports, snapshots; and many of them at once."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

from lab import Lab
from mcpclient import Tools
from measure import Row, rounds
from memory import share

FOUND = Tuple[List[Row], List[str]]
FLOW = 512 << 20  # bytes through a port
FILES, PIECE = 1000, 1 << 20
CROWD = 20

# Sends as much as it is told to whoever connects, and prints its port.
SENDER = """
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
piece = bytes(range(256)) * 4096
while True:
    c, _ = s.accept()
    for _ in range(int(sys.argv[1]) // len(piece)):
        c.sendall(piece)
    c.close()
"""
WRITER = """
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
for n in range(%d):
    with open(os.path.join(sys.argv[1], "%%04d" %% n), "wb") as f:
        f.write(os.urandom(%d))
""" % (FILES, PIECE)


def commands(lab: Lab) -> FOUND:
    lab.up("tools", "shell")
    tools = Tools(lab, "--shell", "tools")

    def run_command() -> float:
        begin = time.perf_counter()
        answer = tools.call("run_command", command="true")
        took = time.perf_counter() - begin
        if answer["exit_code"] != 0:
            raise SystemExit("bench: run_command answered %s" % answer)
        return took

    def run_python() -> float:
        begin = time.perf_counter()
        answer = tools.call("run_python", code="1 + 1")
        took = time.perf_counter() - begin
        if answer["result"] != "2":
            raise SystemExit("bench: run_python answered %s" % answer)
        return took

    found = rounds({
        "command": run_command, "python": run_python,
        "bash": lambda: lab.run("/bin/bash", "-c", "true"), "exec": lab.timed("exec", sandbox="tools", argv=["/bin/bash", "-c", "true"]),
    }, 20, 3, warm=3)
    tools.close()
    rows = [
        Row("`run_command` of `true`, MCP", "bubblewrap", found["command"], "`bash -c true` as a subprocess", found["bash"]),
        Row("`run_command` of `true`, MCP", "bubblewrap", found["command"], "`Client.Run` of the same over a kept connection, Go", found["exec"]),
        Row("`run_python` of `1 + 1`, MCP", "bubblewrap", found["python"], "`bash -c true` as a subprocess", found["bash"]),
        port(lab),
    ]
    lab.run(lab.seer, "down", "tools")
    return rows, []


def port(lab: Lab) -> Row:
    process = subprocess.Popen([lab.seer, "exec", "tools", "--", "python3", "-c", SENDER, str(FLOW)], env=lab.env, stdout=subprocess.PIPE, universal_newlines=True)
    lab.processes.append(process)
    assert process.stdout
    number = int(process.stdout.readline())
    through = {"sandbox": "tools", "port": number, "count": FLOW}
    found = rounds({"ours": lab.timed("fetch", **through), "plain": lab.timed("fetch", direct=True, **through)}, 7)
    return Row("512 MiB out of a port of the sandbox, `Sandbox.DialPort`", "bubblewrap", found["ours"], "the same port, dialled on the network that it shares", found["plain"])


def snapshots(lab: Lab) -> FOUND:
    here, out = lab.folder("made"), lab.folder("unpacked")
    saved = str(lab.root / "made.tar.zst")
    lab.run(lab.python, "-c", WRITER, str(here))
    samples: Dict[str, List[List[float]]] = {}

    def note(name: str, took: float) -> None:
        samples.setdefault(name, []).append([took])

    for n in range(3):
        lab.up("before", "shell")
        lab.run(lab.seer, "snapshot", "before", "empty-%d" % n)
        note("make", lab.run(lab.seer, "exec", "before", "--", "python3", "-c", WRITER, "many"))
        note("save", lab.run(lab.seer, "snapshot", "before", "full-%d" % n))
        lab.run(lab.seer, "down", "before")
        note("tar", lab.run("/bin/sh", "-c", 'tar -C "$0" -cf - . | zstd -1 -q -f -o "$1" && sync "$1"', str(here), saved))
        note("up", lab.run(lab.seer, "up", "--yes", str(lab.experiment("shell")), "--snapshot", "full-%d" % n, "--name", "after"))
        lab.run(lab.seer, "exec", "after", "--", "sh", "-c", "test $(ls many | wc -l) = %d && test $(stat -c %%s many/0999) = %d" % (FILES, PIECE))
        lab.run(lab.seer, "down", "after")
        note("bare", lab.run(lab.seer, "up", "--yes", str(lab.experiment("shell")), "--name", "after"))
        lab.run(lab.seer, "down", "after")
        note("untar", lab.run("/bin/sh", "-c", 'zstd -d -q -c "$1" | tar -C "$0" -xf -', str(out), saved))
        shutil.rmtree(str(out))
        out.mkdir()
        lab.run(lab.seer, "snapshots", "rm", "full-%d" % n, "empty-%d" % n)
    again = [[a[0] + b[0]] for a, b in zip(samples["bare"], samples["make"])]
    beyond = [[max(a[0] - b[0], 1e-6)] for a, b in zip(samples["up"], samples["bare"])]
    shutil.rmtree(str(here))
    os.unlink(saved)
    save, restore = "`seer snapshot` of 1,000 files of 1 MiB, random", "`seer up --snapshot` with them"
    return [
        Row(save, "bubblewrap", samples["save"], "`tar` into `zstd -1` of the same files, and `sync`", samples["tar"]),
        Row(restore, "bubblewrap", samples["up"], "`seer up` and making them again", again),
        Row(restore + ", beyond `seer up`", "bubblewrap", beyond, "`zstd -d` into `tar -x`", samples["untar"]),
    ], []


def crowd(lab: Lab) -> FOUND:
    names = ["crowd-%02d" % n for n in range(CROWD)]
    argv = [lab.seer, "up", "--yes", str(lab.experiment("shell")), "--quiet", "--name"]

    def down() -> None:
        lab.run(lab.seer, "down", *names)

    def all_answer() -> None:
        for name in names:
            lab.run(lab.seer, "exec", name, "--", "/bin/true")

    at_once: List[List[float]] = []
    in_turn: List[List[float]] = []
    held: Dict[str, Any] = {}
    for n in range(2):
        begin = time.perf_counter()
        started = [subprocess.Popen([*argv, name], env=lab.env, stdout=subprocess.DEVNULL) for name in names]
        if any([p.wait() for p in started]):
            raise SystemExit("bench: not all of %d sandboxes came up" % CROWD)
        at_once.append([time.perf_counter() - begin])
        all_answer()
        held = held or memory(lab)
        down()
        begin = time.perf_counter()
        for name in names:
            lab.run(*argv, name)
        in_turn.append([time.perf_counter() - begin])
        down()
    lab.up("heavy", "notebook")
    heavy = memory(lab)
    lab.run(lab.seer, "down", "heavy")
    said = "%d sandboxes of `execution_mode: cli` at once: %.1f MiB each (PSS of %.0f processes). One with Jupyter and a prepared kernel: %.0f MiB (%d processes)." % (
        CROWD, held["bytes"] / CROWD / 2**20, held["processes"] / CROWD, heavy["bytes"] / 2**20, heavy["processes"])
    return [Row("`seer up` of %d sandboxes at once, all answer" % CROWD, "bubblewrap", at_once, "one after the other", in_turn)], [said]


def memory(lab: Lab) -> Dict[str, int]:
    """The proportional share of memory of all processes that see the lab's folders through mounts, and their number."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        place = Path("/proc", pid)
        try:
            if str(lab.root) in (place / "mountinfo").read_text() and b"SEER_MACHINE=" in (place / "environ").read_bytes():
                found.append(int(pid))
        except OSError:  # it has ended
            continue
    return {"bytes": share(found), "processes": len(found)}
