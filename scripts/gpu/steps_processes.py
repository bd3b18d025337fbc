"""Saved processes and forks, with a model that is loaded."""

import time
from typing import List, Optional

from checks import Checks, NotPossible
from machine import smi, wait_until_free
from seer import Seer
from steps_model import Model, call, check_token, folder_of, label_of, serve_and_call

NAME, COPIES = "check-gpu-saved", 2


def ready(seer: Seer, kinds: List[str], model: Optional[Model]) -> None:
    folder_of(model)
    if "gvisor" not in kinds:
        raise NotPossible("gVisor does not work here")
    version = smi("driver_version")[0][0] if seer.device == "cuda" else "570"
    if int(version.partition(".")[0]) < 570:
        raise NotPossible("the driver is %s, and 570 or newer is needed" % version)


def saved_processes(checks: Checks, seer: Seer, kinds: List[str], model: Optional[Model]) -> None:
    checks.run("%s: save its processes, down, start again" % label_of(model), saved, seer, kinds, model)


def saved(seer: Seer, kinds: List[str], model: Optional[Model]) -> str:
    """The restored model gives the same token, and is not loaded again."""
    ready(seer, kinds, model)
    snapshot = "check-gpu-%d" % int(time.time())
    with seer.sandbox(NAME, "gvisor", models=["./model"]):
        serve_and_call(seer, NAME)
        begun = time.monotonic()
        seer.run("snapshot", NAME, snapshot, "--memory", "-q")
        seer.snapshots.append(snapshot)
        save = time.monotonic() - begun
        check_token(seer, model, call(seer, NAME)[1])  # the saved one goes on
    wait_until_free(seer)
    try:
        up = seer.up(NAME, "gvisor", snapshot=snapshot, models=["./model"])
        first, found = call(seer, NAME)
        check_token(seer, model, found)
        second, _ = call(seer, NAME)
    finally:
        seer.run("down", NAME, "-q", check=False)
    return "save %.1f s, up %.1f s, first call %.2f s, next %.2f s; %.1f × a bare start" % (
        save, up, first, second, (up + first) / model.bare)  # type: ignore[union-attr]


def forks(checks: Checks, seer: Seer, kinds: List[str], model: Optional[Model]) -> None:
    checks.run("%s: fork -n %d" % (label_of(model), COPIES), forked, seer, kinds, model)


def forked(seer: Seer, kinds: List[str], model: Optional[Model]) -> str:
    """The original and each copy give the same token."""
    ready(seer, kinds, model)
    copies: List[str] = []
    try:
        with seer.sandbox(NAME, "gvisor", models=["./model"]):
            serve_and_call(seer, NAME)
            begun = time.monotonic()
            copies = [made["id"] for made in seer.json("fork", NAME, "-n", str(COPIES))]
            fork = time.monotonic() - begun
            calls = []
            for name in [NAME, *copies]:
                seconds, found = call(seer, name)
                check_token(seer, model, found)
                calls.append(seconds)
    finally:
        for name in copies:
            seer.run("down", name, "-q", check=False)
    return "fork %.1f s, first calls %s s; %s" % (fork, ", ".join("%.2f" % s for s in calls), wait_until_free(seer))
