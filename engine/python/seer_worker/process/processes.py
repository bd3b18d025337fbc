"""The processes of the machine, as /proc shows them; where there is none, as ps does."""

import os
from typing import Iterator, NamedTuple, Optional


class Process(NamedTuple):
    pid: int
    parent: int
    start: int  # tells two with the same pid apart

    def send(self, number: int) -> None:
        """Sends a signal, if it is still there."""
        now = _stat(self.pid) if os.path.isdir("/proc/self") else self
        if now is not None and now.start == self.start:
            try:
                os.kill(self.pid, number)
            except OSError:
                pass


def running() -> Iterator[Process]:
    """All that live, without zombies."""
    if not os.path.isdir("/proc/self"):
        yield from _by_ps()
        return
    for name in os.listdir("/proc"):
        if name.isdigit():
            process = _stat(int(name))
            if process is not None:
                yield process


def has_mark(process: Process, variable: str, mark: bytes) -> bool:
    """Whether the process, or one that it comes from, was given the mark: as a variable, or as the name of a memory file."""
    entry = variable.encode() + b"=" + mark
    path = _living(process.pid) + "/"
    try:
        with open(path + "environ", "rb") as file:
            if entry in file.read().split(b"\0"):
                return True
        memory = "/memfd:" + os.fsdecode(entry)
        return any(_link(path + "fd/" + fd).startswith(memory + " ") for fd in os.listdir(path + "fd"))
    except OSError:
        return False  # it is another user's, or has gone


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _stat(pid: int) -> Optional[Process]:
    try:
        folder = "/proc/%d" % pid
        fields = _fields(folder)
        if fields[0] in _ENDED and int(fields[17]) < 2 and not any(map(_moves, _tasks(folder))):
            return None
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[19]))


_ENDED = (b"Z", b"X", b"x")


def _fields(folder: str) -> "list[bytes]":
    with open(folder + "/stat", "rb") as file:
        text = file.read()
    return text[text.rindex(b")") + 2:].split()


def _tasks(folder: str) -> "list[str]":
    return [folder + "/task/" + name for name in os.listdir(folder + "/task")]


def _moves(task: str) -> bool:
    """Whether a thread lives. A process whose first thread has ended may live on in others."""
    try:
        return _fields(task)[0] not in _ENDED
    except OSError:
        return False


def _living(pid: int) -> str:
    """The folder of a process, or of a thread of it that lives: one that has ended has no environment."""
    folder = "/proc/%d" % pid
    try:
        if _fields(folder)[0] in _ENDED:
            return next(filter(_moves, _tasks(folder)), folder)
    except OSError:
        pass  # it has gone
    return folder


def _by_ps() -> Iterator[Process]:
    import subprocess
    text = subprocess.run(["ps", "-axo", "pid=,ppid=,stat="], stdout=subprocess.PIPE, check=False).stdout
    for line in text.decode("ascii", "replace").splitlines():
        fields = line.split()
        if len(fields) >= 3 and not fields[2].startswith("Z"):
            yield Process(int(fields[0]), int(fields[1]), 0)
