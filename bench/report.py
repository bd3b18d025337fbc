"""The result as Markdown."""

import datetime
import os
import platform
import subprocess
import textwrap
from pathlib import Path
from typing import Dict, List, Tuple

from lab import TOP, Lab
from measure import Row, median, p99, ratio, spread
from ready import STAGES

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def text(lab: Lab, groups: Dict[str, List[Row]], stages: Dict[str, Dict[str, Dict[str, float]]],
         notes: Dict[str, List[str]]) -> str:
    return "\n\n".join([machine(lab)] + list(sections(groups, stages, notes).values()))


def sections(groups: Dict[str, List[Row]], stages: Dict[str, Dict[str, Dict[str, float]]], notes: Dict[str, List[str]]) -> Dict[str, str]:
    """What is said of each group, by its title."""
    found = {}
    for title, rows in groups.items():
        parts = ["### %s" % title, table(rows)]
        if stages.get(title):
            parts.append(shares(stages[title]))
        prose = [note if "\n" in note else textwrap.fill(note, 100, break_long_words=False, break_on_hyphens=False)
                 for note in notes.get(title, [])]
        found[title] = "\n\n".join(parts + prose)
    return found


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
    path, head, _, tail = document()
    path.write_text("%s%s\n\n%s\n\n%s%s" % (head, BEGIN, figures, END, tail))
    return path


def write_some(lab: Lab, found: Dict[str, str]) -> Path:
    """Replaces the sections of some groups, each of which then says when and where it was measured."""
    path, head, old, tail = document()
    parts = old.strip().split("\n### ")
    kept = {part.partition("\n")[0]: "### " + part.strip() for part in parts[1:]}
    for title, section in found.items():
        begin, rest = section.split("\n\n", 1)
        kept[title] = "%s\n\nMeasured apart from the others:\n\n%s\n\n%s" % (begin, machine(lab), rest)
    path.write_text("%s%s\n\n%s\n\n%s%s" % (head, BEGIN, "\n\n".join([parts[0].strip()] + list(kept.values())), END, tail))
    return path


def document() -> Tuple[Path, str, str, str]:
    """The document: what is before the figures, they themselves, and what is after them."""
    path = TOP / "docs" / "benchmarks.md"
    head, _, rest = path.read_text().partition(BEGIN)
    figures, found, tail = rest.partition(END)
    if not found:
        raise SystemExit("bench: %s has lost the lines %s and %s" % (path, BEGIN, END))
    return path, head, figures, tail
