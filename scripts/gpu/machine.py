"""The machine that is checked."""

import importlib
import platform
import subprocess
import time
from typing import List

from seer import Seer

SLACK = 64  # MiB that a driver may keep for itself


def smi(*query: str) -> List[List[str]]:
    """What nvidia-smi says of each GPU."""
    out = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(query), "--format=csv,noheader,nounits"], check=True,
                         stdout=subprocess.PIPE, text=True, timeout=30).stdout
    return [[cell.strip() for cell in line.split(",")] for line in out.splitlines()]


def used() -> int:
    """MiB of memory in use on all GPUs."""
    return sum(int(row[0]) for row in smi("memory.used"))


BEFORE: List[int] = []  # the memory in use before the first check


def remember(seer: Seer) -> None:
    """Call it before anything runs on the GPU."""
    if seer.device == "cuda":
        BEFORE.append(used())


def wait_until_free(seer: Seer, seconds: float = 10.0) -> str:
    """Waits until the GPUs have the memory that they had at first."""
    if seer.device != "cuda" or not BEFORE:
        return ""
    begun = time.monotonic()
    while (more := used() - BEFORE[0]) > SLACK:
        if time.monotonic() - begun > seconds:
            raise AssertionError("%d MiB of the GPU are still in use after %g s" % (more, seconds))
        time.sleep(0.05)
    return "the GPU's memory is free after %.1f s" % (time.monotonic() - begun)


def about(seer: Seer) -> str:
    """One line about all that matters for the figures."""
    parts = [seer.run("version").splitlines()[0]]
    if seer.device == "cuda":
        rows = smi("name", "driver_version")
        parts.append("%d × %s, driver %s" % (len(rows), rows[0][0], rows[0][1]))
    else:
        parts.append("no GPU: a test of this script")
    for name in ("torch", "transformers", "accelerate"):
        try:
            parts.append("%s %s" % (name, importlib.import_module(name).__version__))
        except ImportError:
            parts.append("no %s" % name)
    return ", ".join([*parts, "Python %s" % platform.python_version(), "kernel %s" % platform.release(),
                      time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())])
