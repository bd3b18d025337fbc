"""What the system says about processes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Optional


def died_of(code: Optional[int]) -> str:
    """Why a kernel ended, from its exit status; what is likely, and nothing more."""
    if code is None:
        return "the kernel does not answer any more"
    if code < 0:
        try:
            name = " (%s)" % signal.Signals(-code).name
        except ValueError:
            name = ""
        return "the kernel was killed by signal %d%s%s" % (-code, name, _guess(-code))
    return "the kernel ended by itself with exit code %d" % code


def _guess(number: int) -> str:
    if number == signal.SIGKILL:
        return ": perhaps it used more memory than there is"
    if number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        return ": a library in it crashed"
    return ""


def end_with_parent(parent: int) -> None:
    """Lets this process be told by SIGTERM when its parent ends, however that happens."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def began(pid: int) -> str:
    """When a process began, in whatever unit: with the pid it says which process is meant. Empty where there is none."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def end_group(pid: int, begin: str) -> None:
    """Kills the process group of a process that is still the one that was meant."""
    if pid > 1 and begin and began(pid) == begin:
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
