"""What a start spends on models that are on this computer, and how fast the files of a folder are hashed."""

import os
import shutil
import time
from pathlib import Path
from typing import List

from lab import Lab
from measure import Row, rounds

PARTS, PART = 4, 512 << 20  # files of the folder, and bytes of each
QUESTION = "one GET of what the Hub says about a repository"
SHA256SUM = "`sha256sum`"


def measure(lab: Lab) -> List[Row]:
    folder = lab.folder("kept")
    commits = lab.helper("hub")
    rows: List[Row] = []
    for name, files in (("few", "3 files"), ("many", "2,000 files")):
        for revision, what in ((commits[name], "a commit"), ("main", "a branch")):
            found = rounds({
                "seer": lab.timed("kept", dir=str(folder), file="org/%s@%s" % (name, revision)),
                "get": lab.timed("question", file="org/" + name),
            }, 7)
            rows.append(Row("model step of a warm `up`: %s, %s" % (what, files), "none", found["seer"], QUESTION, found["get"]))
    rows += folders(lab, folder)
    lab.helper("release")
    return rows


def folders(lab: Lab, folder: Path) -> List[Row]:
    """Hashes a model in a folder, which the system has in memory."""
    model, parts = folder / "model", []
    model.mkdir()
    old = time.time() - 3600  # the digest of a file that has just changed is not kept
    for n in range(PARTS):
        part = model / ("part-%d.safetensors" % n)
        with open(str(part), "wb") as f:
            for _ in range(PART >> 20):
                f.write(os.urandom(1 << 20))
        os.utime(str(part), (old, old))
        parts.append(str(part))
    summed = shutil.which("sha256sum")
    if not summed:
        raise SystemExit("bench: sha256sum is not installed")
    found = rounds({
        "first": lab.timed("digest", dir=str(folder / "host"), file=str(model)),
        "again": lab.timed("digest", dir=str(folder / "host"), file=str(model), remember=True),
        "sum": lambda: lab.run(summed, *parts),
    }, 3)
    shutil.rmtree(str(model))
    return [Row("hashes of a folder of 2 GiB, the %s time" % what, "none", found[what if what == "first" else "again"], SHA256SUM, found["sum"])
            for what in ("first", "second")]
