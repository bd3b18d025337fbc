"""The checks of scripts/check-gpu, in their order, and the table at the end."""

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from checks import Checks
from machine import about, wait_until_free
from seer import Seer
from steps_model import loading, model_of, served_model
from steps_processes import forks, saved_processes
from steps_sandbox import apart, doctor, sandbox_checks

SECONDS, LARGE_SECONDS = 420, 1000  # after these no check begins
COMMAND, LARGE_COMMAND = 60, 300  # seconds that one command may take
GIGABYTE, LARGE = 1, 14


def main() -> int:
    """Returns the exit code."""
    large = "--large" in sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = Path(tempfile.mkdtemp(prefix="seer-check-gpu-"))
    checks = Checks(LARGE_SECONDS if large else SECONDS)
    seer = Seer(os.environ["SEER"], work, os.environ.get("SEER_CHECK_DEVICE", "cuda"), LARGE_COMMAND if large else COMMAND)
    try:
        run(checks, seer, large)
    finally:
        checks.deadline = None  # this one always begins
        checks.run("nothing is left", lambda: left_behind(seer))
        print("\n%s\n\n%s" % (about(seer), checks.table()))
        shutil.rmtree(work, ignore_errors=True)
    return 1 if checks.failed else 0


def run(checks: Checks, seer: Seer, large: bool) -> None:
    """Each check says by itself whether it is possible."""
    kinds = doctor(checks, seer)
    for kind in kinds:
        sandbox_checks(checks, seer, kind)
    apart(checks, seer, kinds)
    for gigabytes in (GIGABYTE, LARGE) if large else (GIGABYTE,):
        model = model_of(checks, seer, gigabytes)
        loading(checks, seer, model)
        for kind in kinds:
            served_model(checks, seer, kind, model)
        saved_processes(checks, seer, kinds, model)
        forks(checks, seer, kinds, model)
        if model is not None:
            shutil.rmtree(model.folder)


def left_behind(seer: Seer) -> str:
    """Ends what a failed check has left."""
    for name in seer.snapshots:
        seer.run("snapshots", "rm", name, check=False)
    seer.run("down", "--all", "-q")
    if seer.json("ls"):
        raise AssertionError("sandboxes are left; see: seer --state-dir %s ls" % seer.state)
    return wait_until_free(seer)


if __name__ == "__main__":
    sys.exit(main())
