"""A file of a model over loopback: the engine's mover, one GET, and aria2c where it is installed."""

import os
import shutil
from typing import Dict, List

from lab import Lab
from measure import Row, Step, rounds

SIZE = 256 << 20
RATE = 50_000_000  # bytes per second of a connection, where they are limited
GET = "one GET, `io.Copy` into a file and `fsync`, no hash"
ARIA = "`aria2c -x16 -s16` with the same SHA-256"
OPTIONS = ["-x16", "-s16", "-k1M", "--quiet", "--check-certificate=false", "--file-allocation=none", "--allow-overwrite=true", "--out=got"]


def measure(lab: Lab) -> List[Row]:
    folder = lab.folder("models")
    published = lab.helper("publish", dir=str(folder), count=SIZE, rate=RATE)
    rows: List[Row] = []
    for path, what in (("fast", "256 MiB, verified"), ("slow", "256 MiB, verified; 50 MB/s for each connection")):
        sides: Dict[str, Step] = {
            "seer": lab.timed("download", dir=str(folder), file=path),
            "get": lab.timed("download", dir=str(folder), file=path, direct=True),
        }
        aria = shutil.which("aria2c")
        if aria:
            argv = [aria, *OPTIONS, "--dir=" + str(folder), "--checksum=sha-256=" + published["sha256"], published["url"] + "/" + path]
            sides["aria"] = lambda argv=argv: by_aria(lab, argv, str(folder / "got"))
        found = rounds(sides, 5)
        rows.append(Row(what, "none", found["seer"], GET, found["get"]))
        if aria:
            rows.append(Row(what, "none", found["seer"], ARIA, found["aria"]))
    lab.helper("release")
    return rows


def by_aria(lab: Lab, argv: List[str], target: str) -> float:
    took = lab.run(*argv)
    if os.path.getsize(target) != SIZE:
        raise SystemExit("bench: aria2c has not downloaded all of %s" % target)
    os.unlink(target)
    return took
