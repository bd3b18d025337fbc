"""Machines of the user's own: hosts reached by SSH, jobs of Slurm, pods of Kubernetes. All are real."""

import ctypes
import importlib
import itertools
import os
import shutil
import subprocess
import sys
from typing import Iterator, List, NamedTuple, Optional, Tuple

import calls
from lab import HERE, TOP, Lab
from measure import Row, Samples, Step, rounds

STARTS, ROUNDS, BATCH = 10, 25, 100
EXPERIMENT = """name: bench
sandbox: {provider: %s, timeout: 25m%s}
serve: [{file: %s, expose_as: library, name: %s}]
"""
PONG = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"
PASS = ["python3", "-c", "pass"]
NEW_NETWORK = 0x40000000  # CLONE_NEWNET


class Way(NamedTuple):
    """A network between here and a place."""

    options: str  # of the experiment's sandbox
    host: str  # where the peer goes
    words: str


class Place(NamedTuple):
    """Where machines are made, and the least that the same place does without Seer."""

    name: str
    options: str  # of the experiment's sandbox
    bare: str  # the peer of a start, in words
    raw: str  # the peer of a call, in words; empty = calls are not measured
    ways: Tuple[Way, ...] = ()  # by which calls are measured


ON = ", provider_options: {ssh: {host: %s}}"
POD = ", provider_options: {kubernetes: {image: localhost/python:1}}"
PLACES = [
    Place("ssh", ON % "box", "`ssh HOST python3 -c pass`", "a ping-pong of 1 KiB through `ssh -W`",
          (Way(ON % "box", "box", ""), Way(ON % "far", "far", ", 1 ms each way"))),
    Place("slurm", "", "`ssh LOGIN srun python3 -c pass`", ""),
    Place("kubernetes", POD, "a pod of the same image that runs `python3 -c pass`, made and awaited by `kubectl`",
          "a ping-pong of 1 KiB through `kubectl exec -i`", (Way(POD, "", ""),)),
]


def measure(lab: Lab) -> Tuple[List[Row], List[str]]:
    rows: List[Row] = []
    notes = ["Machines of your own were measured on all %d CPUs, both sides, beside the daemons of Slurm and Kubernetes." % (os.cpu_count() or 1)]
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        for place in PLACES:
            lacking = lacks(place.name)
            if lacking:
                notes.append("Not measured: %s, which lacks %s." % (place.name, lacking))
            else:
                rows += at(lab, place)
    finally:
        os.sched_setaffinity(0, pinned)
    return rows, notes


def lacks(name: str) -> str:
    """What this computer does not have for a place."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    programs = {"ssh": ["ssh", "sshd"], "slurm": ["slurmctld", "slurmd", "srun", "munged", "sshd"], "kubernetes": ["ip", "nft", "openssl"]}[name]
    missing = [program for program in programs if not shutil.which(program, path=path)]
    if missing:
        return "the programs %s (scripts/setup e2e installs them)" % ", ".join(missing)
    if name != "ssh" and os.geteuid() != 0:
        return "root's rights, for namespaces and daemons"
    there = [str(TOP / "e2e/kubernetes/build"), "--there"]
    if name == "kubernetes" and subprocess.run(there, stdout=subprocess.DEVNULL, check=False).returncode:
        return "the programs of Kubernetes (e2e/kubernetes/build builds them, in ten minutes)"
    return ""


def at(lab: Lab, place: Place) -> List[Row]:
    before, network = dict(lab.env), Network() if place.name == "kubernetes" else None
    folder = lab.folder("place-" + place.name)
    argv = ["/bin/bash", str(HERE / "machines.sh"), place.name]
    process: "subprocess.Popen[str]" = subprocess.Popen(argv, cwd=str(folder), env=dict(lab.env, TOP=str(TOP)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
    assert process.stdin and process.stdout
    try:
        for line in iter(process.stdout.readline, "\n"):
            name, found, value = line.rstrip("\n").partition("=")
            if not found:
                raise SystemExit("bench: %s has not started" % place.name)
            lab.env[name] = value
        return on(lab, place)
    finally:
        subprocess.run([lab.seer, "down", "--all", "--quiet"], env=lab.env, stdout=subprocess.DEVNULL, check=False)
        process.stdin.close()
        process.wait()
        lab.env.clear()
        lab.env.update(before)
        if network:
            network.leave()


class Network:
    """A network of this thread's own, and of what it starts, to which a cluster connects its own."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.check(self.libc.unshare(NEW_NETWORK))

    def leave(self) -> None:
        self.check(self.libc.setns(self.before, NEW_NETWORK))
        os.close(self.before)

    def check(self, result: int) -> None:
        if result:
            raise OSError(ctypes.get_errno(), "a network namespace")


def on(lab: Lab, place: Place) -> List[Row]:
    library = "tools_" + place.name
    experiment(lab, place, place.options, library)
    found = rounds({"ready": lambda: ready(lab, place, library), "bare": bare(lab, place)}, STARTS)
    rows = [Row("`seer up`, `seer call`", place.name, found["ready"], place.bare, found["bare"])]
    for way in place.ways:
        experiment(lab, place, way.options, library)
        found = pinged(lab, place, way, library + "_calls_" + way.host)
        rows.append(Row(calls.LIBRARY + way.words, place.name, found["call"], place.raw + way.words, found["raw"]))
    return rows


def experiment(lab: Lab, place: Place, options: str, library: str) -> None:
    lab.experiment(place.name).write_text(EXPERIMENT % (place.name, options, HERE / "interface.py", library))


def ready(lab: Lab, place: Place, library: str) -> float:
    up = lab.run(lab.seer, "up", "--yes", str(lab.experiment(place.name)), "--name", "first", "--quiet")
    call = lab.run(lab.seer, "call", "first", library + ".echo", "text=x")
    lab.run(lab.seer, "down", "first")
    return up + call


def bare(lab: Lab, place: Place) -> Step:
    ssh = program(lab, "ssh")
    if place.name == "ssh":
        return lambda: lab.run(ssh, "box", *PASS)
    if place.name == "slurm":
        return lambda: lab.run(ssh, "login", "srun", *PASS)
    numbers: Iterator[int] = itertools.count()
    return lambda: bare_pod(lab, "bare-%d" % next(numbers))


def bare_pod(lab: Lab, name: str) -> float:
    kubectl = program(lab, "kubectl")
    took = lab.run(kubectl, "run", name, "--image=localhost/python:1", "--restart=Never", "--command", "--", *PASS)
    took += lab.run(kubectl, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/" + name, "--timeout=60s")
    lab.run(kubectl, "delete", "pod", name, "--now")
    return took


def pinged(lab: Lab, place: Place, way: Way, library: str) -> Samples:
    """Calls against bytes that go the same way and come back."""
    out = str(lab.folder(library))
    lab.run(lab.seer, "up", "--yes", str(lab.experiment(place.name)), "--name", "calls", "--quiet")
    lab.run(lab.seer, "serve", "calls", str(HERE / "interface.py"), "--as", "library", "--name", library, "--out", out)
    sys.path.insert(0, out)
    importlib.invalidate_caches()
    echo = importlib.import_module(library).echo
    with Pipe(lab, raw(lab, place, way)) as pipe:
        found = rounds({"call": calls.timed(lambda: echo(calls.TEXT)), "raw": calls.timed(pipe.ping)}, ROUNDS, BATCH, warm=20)
    lab.run(lab.seer, "down", "calls")
    return found


def raw(lab: Lab, place: Place, way: Way) -> List[str]:
    """A program whose standard streams lead to one that sends back what it gets."""
    if place.name == "ssh":
        return [program(lab, "ssh"), "-W", "127.0.0.1:" + lab.start(lab.python, "-I", str(HERE / "peers/ping_server.py")), way.host]
    kubectl = program(lab, "kubectl")
    lab.run(kubectl, "run", "pong", "--image=localhost/python:1", "--restart=Never", "--command", "--", "sleep", "1000")
    lab.run(kubectl, "wait", "--for=condition=Ready", "pod/pong", "--timeout=60s")
    return [kubectl, "exec", "-i", "pong", "--", "python3", "-c", PONG]


class Pipe:
    """The standard streams of a program."""

    def __init__(self, lab: Lab, argv: List[str]) -> None:
        self.process = subprocess.Popen(argv, env=lab.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def __enter__(self) -> "Pipe":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def ping(self) -> str:
        data = calls.TEXT.encode()
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(data)
        answer = b""
        while len(answer) < len(data):
            more = self.process.stdout.read(len(data) - len(answer))
            if not more:
                raise SystemExit("bench: %s has ended" % self.process.args)
            answer += more
        return answer.decode()


def program(lab: Lab, name: str) -> str:
    path: Optional[str] = shutil.which(name, path=lab.env["PATH"])
    if path is None:
        raise SystemExit("bench: missing: %s" % name)
    return path
