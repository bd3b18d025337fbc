"""What sandboxes see of the GPU, and tensors that leave it."""

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Tuple

from checks import Checks, NotPossible
from machine import remember, smi, wait_until_free
from seer import Failed, Seer

KINDS = ("bubblewrap", "gvisor")
MOST = 1.15  # times the bare pinned copy and socket
MEGABYTES = int(os.environ.get("SEER_CHECK_MB") or 1024)


def doctor(checks: Checks, seer: Seer) -> List[str]:
    """The isolations that work here."""
    def asked() -> Tuple[Dict[str, Any], str]:
        said = seer.json("doctor")
        isolations = {d["name"].split()[1]: d for d in said if d["name"].startswith("isolation ")}
        works = [k for k in KINDS if isolations[k]["ok"]]
        bad = [d for d in said if not d["ok"] and not d.get("optional") and not d["name"].startswith("isolation ")]
        assert not bad, "; ".join("%(name)s: %(detail)s" % d for d in bad)
        assert works, "no isolation works: %s" % isolations
        return isolations, "works: " + ", ".join(works)

    remember(seer)
    isolations = checks.run("doctor", asked) or {}
    checks.run("offers: this computer's GPU", offered, seer)
    checks.run("floor: pinned copy and socket of %d MB" % MEGABYTES, floor, seer)
    found = []
    for kind in KINDS:
        if isolations.get(kind, {}).get("ok"):
            found.append(kind)
        else:
            checks.run("%s: sandboxes" % kind, lambda kind=kind: impossible(isolations.get(kind, {}).get("detail", "doctor failed")))
    return found


def impossible(reason: str) -> str:
    raise NotPossible(reason)


def offered(seer: Seer) -> str:
    """Also chooses the GPU that is used: one that is offered, else the first that nvidia-smi names."""
    if seer.device != "cuda":
        raise NotPossible("SEER_CHECK_DEVICE is cpu")
    names = {o["gpu"]: o for o in seer.json("offers", "--provider", "local") if o.get("gpu")}
    free = [name for name, o in names.items() if o.get("stock") != "none"]
    if names and not free:
        raise NotPossible("other sandboxes have all GPUs")
    seer.gpu = free[0] if free else smi("name")[0][0]
    assert names, "seer offers names no GPU of this computer"
    return ", ".join("%s with %.0f GB" % (name, o.get("gpu_memory_gb", 0)) for name, o in names.items())


def floor(seer: Seer) -> str:
    found = seer.bare("bare.py", "socket", str(MEGABYTES), seer.device)
    seer.floor["socket"] = found["seconds"]
    return "%.2f s, of which the copy took %.2f s" % (found["seconds"], found["copy_s"])


def sandbox_checks(checks: Checks, seer: Seer, kind: str) -> None:
    """All that one sandbox of an isolation is used for."""
    name = "check-gpu-" + kind
    if not checks.run("%s: up" % kind, lambda: started(seer, name, kind)):
        return
    checks.run("%s: the sandbox sees the GPU" % kind, sees, seer, name)
    if checks.run("%s: serve a file that imports torch" % kind, served, seer, name):
        checks.run("%s: tensors, slices, generators, %d MB" % (kind, MEGABYTES), tensors, seer, kind, name)
    checks.run("%s: usage" % kind, usage, seer, name)
    checks.run("%s: down" % kind, ended, seer, name)


def started(seer: Seer, name: str, kind: str) -> Tuple[bool, str]:
    if seer.device == "cuda" and seer.gpu is None:
        raise NotPossible("no GPU is offered")
    return True, "%.1f s" % seer.up(name, kind)


def served(seer: Seer, name: str) -> Tuple[bool, str]:
    return True, "%.1f s" % seer.serve(name, "served_tensors.py", "tensors")


def sees(seer: Seer, name: str) -> str:
    if seer.device != "cuda":
        raise NotPossible("SEER_CHECK_DEVICE is cpu")
    listed = seer.run("exec", name, "--", "nvidia-smi", "-L").splitlines()
    assert len(listed) == 1, "nvidia-smi lists %s" % listed
    code = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_name(0))"
    return seer.run("exec", name, "--", "python3", "-c", code).strip()


def tensors(seer: Seer, kind: str, name: str) -> str:
    """Values are right, and a large tensor takes little more than the bare way."""
    found = seer.bare("client.py", str(MEGABYTES), name=name)
    assert found["device"] == seer.device, "the sandbox has its tensors on %s" % found["device"]
    ratio = found["large_s"] / seer.floor["socket"] if "socket" in seer.floor else 0
    note = "%d dtypes; %d MB in %.2f s, %.2f × the floor; a slice of a handle as an argument %.1f ms" % (
        found["dtypes"], MEGABYTES, found["large_s"], ratio, found["slice_ms"])
    assert seer.device != "cuda" or kind != "bubblewrap" or ratio <= MOST, "%s, more than %.2f ×" % (note, MOST)
    return note


def usage(seer: Seer, name: str) -> str:
    if seer.device != "cuda":
        raise NotPossible("SEER_CHECK_DEVICE is cpu")
    gpus = seer.json("usage", name).get("gpus") or []
    assert len(gpus) == 1 and gpus[0].get("memory_total"), "usage says of GPUs: %s" % gpus
    return "%(name)s, %(memory_bytes)d of %(memory_total)d bytes" % gpus[0]


def ended(seer: Seer, name: str) -> str:
    begun = time.monotonic()
    seer.run("down", name, "-q")
    return "%.1f s %s" % (time.monotonic() - begun, wait_until_free(seer))


def apart(checks: Checks, seer: Seer, kinds: List[str]) -> None:
    """More starts at once than there are GPUs: each GPU goes to one of them."""
    checks.run("starts at once never share a GPU", shared, seer, kinds)


def shared(seer: Seer, kinds: List[str]) -> str:
    if seer.gpu is None or not kinds:
        raise NotPossible("no GPU is offered" if kinds else "no isolation works")
    free = sum(1 for _ in smi("uuid"))
    names = ["check-gpu-start-%d" % n for n in range(free + 1)]

    def start(name: str) -> str:
        try:
            seer.up(name, kinds[0])
            return seer.run("exec", name, "--", "printenv", "CUDA_VISIBLE_DEVICES").strip()
        except (Failed, subprocess.TimeoutExpired) as e:
            return "refused: %s" % e

    try:
        with ThreadPoolExecutor(len(names)) as pool:
            found = list(pool.map(start, names))
    finally:
        for name in names:
            seer.run("down", name, "-q", check=False)
    got = [f for f in found if not f.startswith("refused")]
    assert got and len(set(got)) == len(got) and len(got) < len(names), "the starts got %s" % found
    wait_until_free(seer)
    refused = next(f for f in found if f not in got)
    return "%d of %d starts have a GPU, none the same; %s" % (len(got), len(names), refused[-160:])


def room(seer: Seer, gigabytes: int) -> None:
    """NotPossible where the disk is too small."""
    free = shutil.disk_usage(seer.work).free >> 30
    if free < 2 * gigabytes + 1:
        raise NotPossible("%s has %d GB free, and %d are needed" % (seer.work, free, 2 * gigabytes + 1))
