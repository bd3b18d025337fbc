"""Child processes of a call: finding them, and ending them when it is cancelled.

What a call starts by os.fork, os.posix_spawn, os.system, subprocess, asyncio or multiprocessing is known by its pid as long as it is
a child of the worker, and carries the mark of the call in a variable (after an exec) or in the name of a memory file (after a fork
alone), which its own children inherit, also those that leave by setsid and a double fork. What code that is not Python's starts by
itself is not known.
"""

import os
import signal
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Set

from . import context
from .context import Scope
from .processes import Process, has_mark, running

GRACE = 2.0  # seconds between TERM and KILL
VARIABLE = "SEER_CALL"

_POLL = 0.02
_KILLING = 5.0  # seconds: a process that the kernel does not let go of is left to it
_MANY = 256

_owners: Dict[int, Scope] = {}  # of children of this process


def install() -> None:
    """Marks what Python code starts with the call that starts it. Once, in the worker, before the interface is loaded."""
    context.install()
    if getattr(os.fork, "seer", False):
        return
    os.fork = _forking(os.fork, lambda answer: answer)
    os.forkpty = _forking(os.forkpty, lambda answer: answer[0])
    os.posix_spawn, os.posix_spawnp = _spawning(os.posix_spawn, 2), _spawning(os.posix_spawnp, 2)
    os.system = _system
    import _posixsubprocess  # what subprocess, asyncio and multiprocessing all come to
    _posixsubprocess.fork_exec = ours = _spawning(_posixsubprocess.fork_exec, 5)
    loaded = sys.modules.get("subprocess")
    if hasattr(loaded, "_fork_exec"):
        loaded._fork_exec = ours  # type: ignore[union-attr]


def find(scope: Scope) -> List[int]:
    """The living processes that the call has started, and what these have started."""
    return sorted(p.pid for p in _find(scope)) if scope.children else []


def end(scope: Scope, grace: float = GRACE) -> int:
    """Ends them: TERM, after the grace KILL. Returns how many there were; waits until they are gone."""
    if not scope.children:
        return 0
    ended: Set[Process] = set()
    now = time.monotonic()
    kill_at, give_up_at = now + grace, now + grace + _KILLING
    while True:
        found, now = _find(scope), time.monotonic()
        if not found or now >= give_up_at:
            return len(ended)
        for process in found:
            if now >= kill_at:
                process.send(signal.SIGKILL)
            elif process not in ended:
                process.send(signal.SIGTERM)
                process.send(signal.SIGCONT)
        ended.update(found)
        time.sleep(_POLL)


def end_soon(scope: Scope, grace: float = GRACE) -> None:
    """The same in a thread of its own, if there may be any. Leaves processes of other calls alone, also those of later ones."""
    if scope.children:
        threading.Thread(target=end, args=(scope, grace), name="seer-children", daemon=True).start()


def _find(scope: Scope) -> List[Process]:
    mark, own = scope.mark.encode(), os.getpid()
    processes = [p for p in running() if p.pid != own]
    below: Dict[int, List[Process]] = {}
    for process in processes:
        below.setdefault(process.parent, []).append(process)
    todo = [p for p in processes if p.parent == own and _owners.get(p.pid) is scope or has_mark(p, VARIABLE, mark)]
    found: Dict[int, Process] = {}
    while todo:
        process = todo.pop()
        if process.pid not in found:
            found[process.pid] = process
            todo += below.get(process.pid, ())
    return list(found.values())


# --- how children are marked


def _forking(fork: Callable[[], Any], pid_of: Callable[[Any], int]) -> Callable[[], Any]:
    def patched() -> Any:
        scope = context.current()
        if scope is None:
            return fork()
        scope.children = True
        answer = fork()
        pid = pid_of(answer)
        if pid:
            _own(pid, scope)
        else:
            os.environ[VARIABLE] = scope.mark  # for a later exec
            try:
                os.memfd_create("%s=%s" % (VARIABLE, scope.mark))
            except (AttributeError, OSError):
                pass
        return answer

    patched.seer = True  # type: ignore[attr-defined]
    patched.__wrapped__ = fork  # type: ignore[attr-defined]
    return patched


def _spawning(spawn: Callable[..., int], place: int) -> Callable[..., int]:
    """For what takes the environment of the child at that place: a dict, a list, or None for that of the worker."""
    def patched(*args: Any, **kwargs: Any) -> int:
        scope = context.current()
        if scope is None:
            return spawn(*args, **kwargs)
        scope.children = True  # before it begins: this thread may be interrupted at any moment
        if len(args) > place:
            args = (*args[:place], _marked(args[place], scope), *args[place + 1:])
        elif "env" in kwargs:
            kwargs["env"] = _marked(kwargs["env"], scope)
        pid = spawn(*args, **kwargs)
        _own(pid, scope)
        return pid

    patched.__wrapped__ = spawn  # type: ignore[attr-defined]
    return patched


def _marked(env: Any, scope: Scope) -> Any:
    if env is None or isinstance(env, (list, tuple)):  # of fork_exec
        every = [b"%b=%b" % pair for pair in os.environb.items()] if env is None else list(env)
        ours = VARIABLE.encode() + b"="
        return [e for e in every if not e.startswith(ours)] + [ours + scope.mark.encode()]
    return {**env, VARIABLE: scope.mark}


def _system(command: Any) -> int:
    """os.system, by a way that can be marked, and whose wait can be interrupted."""
    sys.audit("os.system", command)
    pid = os.posix_spawn("/bin/sh", [b"sh", b"-c", os.fsencode(command)], os.environ)
    return os.waitpid(pid, 0)[1]


def _own(pid: int, scope: Scope) -> None:
    if len(_owners) > _MANY:
        alive = {p.pid for p in running()}
        for old in [p for p in list(_owners) if p not in alive]:
            _owners.pop(old, None)
    _owners[pid] = scope
