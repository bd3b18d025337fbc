"""What processes hold."""

import os
from pathlib import Path
from typing import Dict, Iterable, List


def share(pids: Iterable[int]) -> int:
    """The proportional share of memory of processes, in bytes: what several use is divided among them."""
    total = 0
    for pid in pids:
        try:
            lines = Path("/proc", str(pid), "smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def family(roots: Iterable[int]) -> List[int]:
    """Processes and everything below them."""
    children: Dict[int, List[int]] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            after_name = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2]
        except OSError:
            continue
        children.setdefault(int(after_name.split()[1]), []).append(pid)
    found = list(roots)
    for pid in found:
        found += children.get(pid, [])
    return found
