"""The result as Markdown."""

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Dict, List

from lab import TOP, Lab
from measure import Row, median, p99, ratio, spread
from ready import STAGES

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def text(lab: Lab, groups: Dict[str, List[Row]], stages: Dict[str, Dict[str, Dict[str, float]]],
         notes: Dict[str, List[str]]) -> str:
    parts = [machine(lab)]
    for title, rows in groups.items():
        parts.append("### %s\n\n%s" % (title, table(rows)))
        if stages.get(title):
            parts.append(shares(stages[title]))
        parts += notes.get(title, [])
    return "\n\n".join(parts)


def table(rows: List[Row]) -> str:
    lines = ["| what | isolation | Seer | p99 | against | its time | p99 | **ratio** | middle half |", "|---|---|--:|--:|---|--:|--:|--:|--:|"]
    for row in rows:
        low, high = spread(row)
        cells = [row.what, row.isolation, span(median(row.ours)), span(p99(row.ours)), row.peer, span(median(row.theirs)), span(p99(row.theirs)),
                 "**%s**" % times(ratio(row)), "%s – %s" % (times(low), times(high))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shares(stages: Dict[str, Dict[str, float]]) -> str:
    kinds = list(stages)
    lines = ["Where the time from up to the first call goes, in one Go process (medians):", "", "| stage | %s |" % " | ".join(kinds), "|---|%s" % ("--:|" * len(kinds))]
    for name, what in STAGES:
        lines.append("| %s | %s |" % (what, " | ".join(span(stages[kind][name]) for kind in kinds)))
    return "\n".join(lines)


def times(value: float) -> str:
    return "%.2f" % value if value < 10 else "%.0f" % value


def span(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return "%.3g %s" % (seconds / size, unit)
    return "%.3g µs" % (seconds / 1e-6)


def machine(lab: Lab) -> str:
    cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0)))
    load = "%.1f %.1f %.1f" % os.getloadavg()
    return "\n".join([
        "| | |", "|---|---|",
        "| machine | %s, %d CPUs, %s |" % (processor(), os.cpu_count() or 0, memory()),
        "| system | %s, Linux %s, Python %s, bubblewrap %s |" % (system(), platform.release(), platform.python_version(), bubblewrap()),
        "| date, commit | %s, %s |" % (datetime.date.today(), lab.output(lab.seer, "version").split()[1]),
        "| pinning | everything on CPU %s, both sides |" % cpus,
        "| load average at the end | %s |" % load,
    ])


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory() -> str:
    return "%.0f GiB" % (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def system() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def bubblewrap() -> str:
    return subprocess.run(["bwrap", "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.split()[-1]


def write(figures: str) -> Path:
    """Replaces what is between the markers of docs/benchmarks.md."""
    path = TOP / "docs" / "benchmarks.md"
    old = path.read_text()
    head, _, rest = old.partition(BEGIN)
    _, found, tail = rest.partition(END)
    if not found:
        raise SystemExit("bench: %s has lost the lines %s and %s" % (path, BEGIN, END))
    path.write_text("%s%s\n\n%s\n\n%s%s" % (head, BEGIN, figures, END, tail))
    return path
