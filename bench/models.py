"""A file of a model over loopback: the engine's mover, one GET, and aria2c where it is installed.

The same over a link of 2 Gbit/s, and over one with a delay: loopback in a network namespace, shaped by tc."""

import os
import shutil
import subprocess
import sys
from typing import Dict, List, Optional

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
        aria = aria2c()
        if aria:
            argv = [aria, *OPTIONS, "--dir=" + str(folder), "--checksum=sha-256=" + published["sha256"], published["url"] + "/" + path]
            sides["aria"] = lambda argv=argv: by_peer(lab, argv, str(folder / "got"))
        found = rounds(sides, 5)
        rows.append(Row(what, "none", found["seer"], GET, found["get"]))
        if aria:
            rows.append(Row(what, "none", found["seer"], ARIA, found["aria"]))
    lab.helper("release")
    return rows + shaped(lab)


def aria2c() -> Optional[str]:
    path = shutil.which("aria2c")
    if not path:
        print("bench: not compared with aria2c, which is not installed; run: scripts/setup bench", file=sys.stderr)
    return path


LINKS = {
    "a link of 2 Gbit/s": ["tbf", "rate", "2gbit", "burst", "4mb", "latency", "20ms"],
    "a link with a round trip of 100 ms": ["netem", "delay", "50ms", "limit", "100000"],
}
NAMESPACE = "seer-bench-%d" % os.getpid()


def shaped(lab: Lab) -> List[Row]:
    """Measures in a network namespace, so that nothing else is slowed. Peers that are not installed are left out."""
    ip, tc = shutil.which("ip"), shutil.which("tc")
    if not ip or not tc:
        print("bench: no shaped links: tc is missing; install the package iproute2", file=sys.stderr)
        return []
    if os.geteuid():
        print("bench: no shaped links: a network namespace needs root; run as root", file=sys.stderr)
        return []
    rows: List[Row] = []
    subprocess.run([ip, "netns", "add", NAMESPACE], check=True)
    try:
        lab.end_helper()
        lab.prefix = [ip, "netns", "exec", NAMESPACE]
        subprocess.run([*lab.prefix, ip, "link", "set", "lo", "up"], check=True)
        for link, discipline in LINKS.items():
            shape = [*lab.prefix, tc, "qdisc", "replace", "dev", "lo", "root", *discipline]
            if subprocess.run(shape, stderr=subprocess.DEVNULL, check=False).returncode:
                print("bench: not measured over %s: this kernel has no %s" % (link, discipline[0]), file=sys.stderr)
                continue
            rows += over(lab, link)
    finally:
        lab.end_helper()
        lab.prefix = []
        subprocess.run([ip, "netns", "delete", NAMESPACE], check=True)
    return rows


def over(lab: Lab, link: str) -> List[Row]:
    folder = lab.folder("shaped")
    published = lab.helper("publish", dir=str(folder), count=2 * SIZE, rate=RATE)
    target, address = str(folder / "peer"), published["url"] + "/fast"
    sides: Dict[str, Step] = {"seer": lab.timed("download", dir=str(folder), file="fast")}
    peers = {}
    aria, curl = aria2c(), shutil.which("curl")
    if aria:
        argv = [aria, *(o for o in OPTIONS if not o.startswith("--out")), "--dir=" + str(folder), "--out=peer", address]
        peers["aria"] = "`aria2c -x16 -s16`, which verifies nothing"
        sides["aria"] = lambda argv=argv: by_peer(lab, argv, target, 2 * SIZE)
    if curl:
        fetch = [curl, "-s", "-o", target, address]
        peers["curl"] = "`curl`, which verifies nothing"
        sides["curl"] = lambda: by_peer(lab, fetch, target, 2 * SIZE)
    if not peers:
        return []
    found = rounds(sides, 5)
    lab.helper("release")
    return [Row("512 MiB over %s, verified and synced" % link, "none", found["seer"], name, found[side]) for side, name in peers.items()]


def by_peer(lab: Lab, argv: List[str], target: str, size: int = SIZE) -> float:
    took = lab.run(*argv)
    if os.path.getsize(target) != size:
        raise SystemExit("bench: %s has not downloaded all of %s" % (os.path.basename(argv[0]), target))
    os.unlink(target)
    return took
