"""Downloads from the Hub against its other clients: one large file and 2,000 small ones, over loopback, a shaped link and a slow one.

All clients begin with an empty cache of models, and download from one fake of the Hub."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from lab import HERE, Lab
from measure import Row, Samples, rounds

BIG, SMALL, SMALL_SIZE = 2 << 30, 2000, 4 << 10
ROUNDS = 3
DELAY = 0.1  # seconds of a round trip through the proxy
LIMIT = "a link of 2 Gbit/s"
SHAPE = ["tbf", "rate", "2gbit", "burst", "4mb", "latency", "20ms"]
NAMESPACE = "seer-bench-hub-%d" % os.getpid()


class Client(NamedTuple):
    """A program that downloads a repository into a folder."""

    name: str
    argv: Callable[[str, Path], List[str]]  # of a repository and the folder


class Hub:
    """The fake, and what clients need to know of it."""

    def __init__(self, lab: Lab, delay: float = 0) -> None:
        found = lab.helper("models", count=BIG, delay=delay)
        self.lab, self.env, self.sha256 = lab, found["env"], found["sha256"]
        self.folder = lab.folder("hub")
        self.peaks: Dict[str, float] = {}  # MiB
        self.clients = clients(self)

    def address(self, repo: str, name: str) -> str:
        return "%s/%s/resolve/main/%s" % (self.env["HF_ENDPOINT"], repo, name)

    def step(self, client: Client, repo: str) -> Callable[[], float]:
        size = BIG if repo == "org/big" else SMALL * SMALL_SIZE

        def download() -> float:
            target = self.folder / "got"
            target.mkdir()
            env = dict(self.env, HF_HOME=str(target), HF_HUB_DISABLE_PROGRESS_BARS="1")
            took = self.lab.run(*client.argv(repo, target), **env)
            found = sum(f.stat().st_size for f in target.rglob("*") if f.is_file() and not f.is_symlink())
            if found < size:
                raise SystemExit("bench: %s has downloaded %d of %d bytes" % (client.name, found, size))
            key = "%s, %s" % (client.name, "the large file" if repo == "org/big" else "small files")
            self.peaks[key] = max(self.peaks.get(key, 0), self.lab.peak)
            shutil.rmtree(str(target))
            shutil.rmtree(str(self.lab.cache / "models"), ignore_errors=True)
            return took

        return download


def clients(hub: Hub) -> Dict[str, Client]:
    """Returns those that are there, Seer first; says which are not."""
    lab, pull = hub.lab, str(HERE / "peers" / "pull.mjs")
    python = lab.clients + "/python/bin/python"
    found = {
        "seer": Client("`seer models pull`", lambda repo, _: [lab.seer, "models", "pull", repo]),
        "python": Client("`huggingface_hub` with hf-xet", lambda repo, _: [python, "-c", PULL, repo]),
    }
    if tool("node"):
        found["node"] = Client("`@huggingface/hub`", lambda repo, to: [tool("node"), pull, lab.clients, repo, str(to)])
    if tool("aria2c"):
        found["aria"] = Client("`aria2c -x16`, which verifies nothing", lambda repo, to: aria(hub, repo, to))
    if tool("curl"):
        found["curl"] = Client("`curl`, which verifies nothing", lambda repo, to: curl(hub, repo, to))
    return found


PULL = "import sys, huggingface_hub; huggingface_hub.snapshot_download(sys.argv[1])"


def tool(name: str) -> str:
    path = shutil.which(name)
    if not path:
        print("bench: not measured: %s is not installed; run: scripts/setup bench" % name, file=sys.stderr)
    return path or ""


def names(repo: str) -> List[str]:
    return ["model.safetensors"] if repo == "org/big" else ["part/%04d.json" % n for n in range(SMALL)]


def aria(hub: Hub, repo: str, to: Path) -> List[str]:
    listed = hub.folder / "aria.txt"
    listed.write_text("".join("%s\n out=%s\n" % (hub.address(repo, name), name) for name in names(repo)))
    options = ["-x16", "-s16", "-j16", "-k1M", "--quiet", "--file-allocation=none"]
    return [tool("aria2c"), *options, "--dir=%s" % to, "--input-file=%s" % listed]


def curl(hub: Hub, repo: str, to: Path) -> List[str]:
    listed = hub.folder / "curl.txt"
    listed.write_text("".join('url="%s"\noutput="%s/%s"\n' % (hub.address(repo, name), to, name) for name in names(repo)))
    return [tool("curl"), "-sfL", "--parallel", "--parallel-max", "16", "--create-dirs", "-K", str(listed)]


def measure(lab: Lab) -> Tuple[List[Row], List[str]]:
    """Measures in a network namespace where that can be had, so that the shaped link slows nothing else."""
    ip, tc = shutil.which("ip"), shutil.which("tc")
    alone = bool(ip and tc) and not os.geteuid()
    if not alone:
        print("bench: no %s: it needs root and the package iproute2" % LIMIT, file=sys.stderr)
        return over(lab, shaped=None)
    subprocess.run([str(ip), "netns", "add", NAMESPACE], check=True)
    try:
        lab.end_helper()
        lab.prefix = [str(ip), "netns", "exec", NAMESPACE]
        subprocess.run([*lab.prefix, str(ip), "link", "set", "lo", "up"], check=True)
        return over(lab, [*lab.prefix, str(tc), "qdisc"])
    finally:
        lab.end_helper()
        lab.prefix = []
        subprocess.run([str(ip), "netns", "delete", NAMESPACE], check=True)


def over(lab: Lab, shaped: Optional[List[str]]) -> Tuple[List[Row], List[str]]:
    hub = Hub(lab)
    lab.run(lab.seer, "models", "pull", "org/llama", HF_HOME=str(hub.folder / "first"), **hub.env)  # compiles the plugin
    rows = compared(hub, "org/small", "2,000 files of 4 KiB", list(hub.clients))
    rows += compared(hub, "org/big", "2 GiB", list(hub.clients))
    rows.append(plan(hub))
    notes = [peaks(hub)]
    if shaped:
        subprocess.run([*shaped, "replace", "dev", "lo", "root", *SHAPE], check=True)
        rows += compared(hub, "org/big", "2 GiB over %s" % LIMIT, ["seer", "aria", "curl", "python"])
        subprocess.run([*shaped, "delete", "dev", "lo", "root"], check=True)
    lab.helper("release")
    hub = Hub(lab, DELAY)
    rows += compared(hub, "org/big", "2 GiB through a proxy that adds 100 ms", ["seer", "aria", "python"])
    # Without the npm client, which takes ten minutes each time.
    rows += compared(hub, "org/small", "2,000 files of 4 KiB through a proxy that adds 100 ms", ["seer", "aria", "python"])
    lab.helper("release")
    return rows, notes


def compared(hub: Hub, repo: str, what: str, wanted: List[str]) -> List[Row]:
    there = hub.clients
    sides = {side: hub.step(there[side], repo) for side in wanted if side in there}
    found: Samples = rounds(sides, ROUNDS, warm=0)
    return [Row(what, "none", found["seer"], there[side].name, found[side]) for side in sides if side != "seer"]


def plan(hub: Hub) -> Row:
    """Plans an experiment with a model of the Hub of which this computer knows nothing."""
    lab = hub.lab
    experiment = hub.folder / "planned.yaml"
    experiment.write_text("name: planned\nsandbox: {models: [org/llama]}\n")

    def fresh() -> float:
        shutil.rmtree(str(lab.cache / "models"), ignore_errors=True)
        return again()

    def again() -> float:
        return lab.run(lab.seer, "plan", str(experiment), HF_HOME=str(hub.folder / "planned"), **hub.env)

    found = rounds({"fresh": fresh, "again": again}, 7)
    what = "`seer plan` of a model of the Hub that this computer has never seen"
    return Row(what, "none", found["fresh"], "the same again", found["again"])


def peaks(hub: Hub) -> str:
    """Tells the largest resident memory of each client, and of Seer's mover alone."""
    lab, target = hub.lab, hub.folder / "moved"
    target.mkdir()
    lab.run(str(lab.bin / "bench-helper"), "move", hub.address("org/big", "model.safetensors"), str(BIG), hub.sha256, str(target))
    found = {"Seer's mover alone, the large file": lab.peak, **hub.peaks}
    shutil.rmtree(str(target))
    lab.run(lab.seer, "version")
    found["`seer version`"] = lab.peak
    lines = ["| resident memory at its peak | MiB |", "|---|--:|"]
    table = "\n".join(lines + ["| %s | %.0f |" % (name, found[name]) for name in found])
    # The system counts what a process had before its program was loaded: memory of the one that measures.
    return table + "\n\nNo program can show less than `seer version` here, as each begins as a copy of the program that\nmeasures."
