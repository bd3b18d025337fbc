"""The processes of the machine: finds, reaps and ends them."""
import errno
import os
import signal
import sys
import time

from .system import say


def adopt_orphans():
    """PID 1 is the parent of every orphan. Elsewhere it has to be asked for."""
    if os.getpid() == 1 or not sys.platform.startswith("linux"):
        return
    import ctypes
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0):  # PR_SET_CHILD_SUBREAPER
        say("orphaned processes cannot be adopted here")


def processes_by_ps():
    """Without /proc: what has left its parent is not found."""
    import subprocess
    ps = subprocess.Popen(["ps", "-axo", "pid=,ppid=,state="], stdout=subprocess.PIPE)
    rows = [line.split() for line in ps.communicate()[0].splitlines()]
    return {int(pid): (int(parent), False, False) for pid, parent, state in rows if state[:1] != b"Z" and int(pid) != ps.pid}


def state_and_parent(folder):
    with open(folder + "/stat", "rb") as f:
        fields = f.read().rpartition(b")")[2].split()
    return fields[0], fields[1], int(fields[17])


def living_thread(pid):
    """The folder of a thread that lives, and the parent. A process whose first thread has ended is Z, and may live on in others."""
    folder = "/proc/%s" % pid
    state, parent, threads = state_and_parent(folder)
    if state not in (b"Z", b"X"):
        return folder, int(parent)
    for thread in os.listdir(folder + "/task") if os.path.isdir(folder + "/task") else ():
        try:
            if state_and_parent(folder + "/task/" + thread)[0] not in (b"Z", b"X"):
                return folder + "/task/" + thread, int(parent)
        except OSError:
            pass  # it has ended meanwhile
    return folder if threads > 1 else None, int(parent)  # gVisor does not list them


def processes(machine):
    """pid -> (parent, whether it carries the cookie of this machine, whether a service has started it)"""
    if not os.path.exists("/proc/self"):
        return processes_by_ps()
    found, cookie = {}, ("SEER_MACHINE=" + machine).encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            folder, parent = living_thread(name)
            if folder is None:
                continue
        except OSError:
            continue
        try:
            with open(folder + "/environ", "rb") as f:
                variables = f.read().split(b"\0")
        except OSError as e:
            if e.errno in (errno.EACCES, errno.EPERM):  # of another user, but perhaps below us
                found[int(name)] = (parent, False, False)
            continue
        served = any(v.startswith(b"SEER_PROCESS=service/") for v in variables)
        found[int(name)] = (parent, bool(machine) and cookie in variables, served)
    return found


def chain(found, pid):
    """The ancestors of a process, nearest first."""
    seen = set()
    while pid in found and pid not in seen:
        seen.add(pid)
        pid = found[pid][0]
        yield pid


def victims(machine, services):
    """What is to be ended: services, which outlive their runtime, only if it is said."""
    found, me = processes(machine), os.getpid()
    spared = {me}.union(chain(found, me))
    if not services:
        served = {pid for pid in found if found[pid][2]}
        spared.update(pid for pid in found if pid in served or served.intersection(chain(found, pid)))
    if me == 1:
        return [pid for pid in found if pid not in spared]
    return [pid for pid in found if pid not in spared and (found[pid][1] or me in chain(found, pid))]


def reap():
    """pid -> exit code of the children that have ended."""
    gone = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return gone
        if pid == 0:
            return gone
        if os.WIFSTOPPED(status):
            continue  # it is held
        gone[pid] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def end_everything(machine, services=True):
    """Kills again and again until nothing is left: a process may be forking meanwhile."""
    for _ in range(300):
        if services and os.getpid() == 1:
            try:
                os.kill(-1, signal.SIGKILL)  # also what /proc does not show
            except OSError:
                pass
        targets = victims(machine, services)
        for pid in targets:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reap()
        if not targets:
            return True
        time.sleep(0.01)
    say("some processes could not be ended: %s", targets)
    return False
