"""Handles: results that stay in the worker. docs/protocol.md, section 8."""

import math
import os
import threading
import time
from collections import Counter, OrderedDict
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Set

from ..values.types import HandleRef
from . import steps as _steps
from .facts import describe, size_of, stats_of
from .holdings import Holdings, compact
from .memory import Key, Memory, keys_of, memory_of
from .steps import StepError

__all__ = ["HandleGone", "Handles", "StepError", "size_of"]

_SECONDS, _COUNT = 900.0, 1000
_REMEMBERED = 10_000  # handles that are gone
_LONGEST_NAME = 100


class HandleGone(Exception):
    """The call error `handle_gone`; its text says why."""


class _Held:
    __slots__ = ("value", "token", "memory", "used", "lent")

    def __init__(self, value: Any, token: str, memory: Memory, used: float) -> None:
        self.value, self.token, self.memory, self.used = value, token, memory, used
        self.lent = False  # a call has had the value since it was measured, and may have put more into it


class Handles:
    """Thread-safe. token is whose call asks; None may use all."""

    FUNCTIONS = ("$handle.info", "$handle.get", "$handle.make", "$handle.release", "$handle.list")

    def __init__(self, limits: Optional[Mapping[str, Any]] = None, now: Callable[[], float] = time.monotonic,
                 shown: Callable[[str], str] = str, variables: Callable[[], Iterable[Any]] = tuple) -> None:
        """limits: handle_seconds, handle_count, handle_bytes of LIMITS. shown is Scrubber.text: a preview may tell what an author
        who returns an object never meant to print. variables are those of the interface file: as long as they hold a value, it
        does not count."""
        limits = limits or {}
        self._seconds = float(limits.get("handle_seconds") or _SECONDS)
        self._count = int(limits.get("handle_count") or _COUNT)
        self._bytes = int(limits.get("handle_bytes") or _memory() // 4)
        self._now, self._shown, self._variables = now, shown, variables
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()  # the one used longest ago first
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._holdings = Holdings()
        self._measure, self._compact = memory_of, compact

    def keep(self, value: Any, token: str) -> Dict[str, Any]:
        """Stores the value and gives HANDLE. HandleRef makes of it what can be sent."""
        spared = keys_of(self._variables())
        self._measure_again(spared)
        value = self._compact(value, spared, self._bytes - self._holdings.of.get(token, 0))
        memory = self._measure(value, spared)
        info = {"id": "h-" + os.urandom(8).hex(), **self._describe(value, size_of(value))}
        with self._lock:
            freed = self._expired()
            try:
                self._held[info["id"]] = _Held(value, token, memory, self._now())
                self._holdings.add(token, memory)
            except BaseException:
                self._recount()
                raise
            freed += self._shrink()
        del value, freed  # not with the lock: what is freed may run code of its own
        return info

    def _measure_again(self, spared: Set[Key]) -> None:
        """What calls have had since, and what the interface file's variables hold no more."""
        with self._lock:
            changed = [(id, h) for id, h in self._held.items() if h.lent or not h.memory.spared <= spared]
            for _, held in changed:
                held.lent = False
        for id, held in changed:
            memory = self._measure(held.value, spared)
            with self._lock:
                if id in self._held:
                    try:
                        self._holdings.remove(held.token, held.memory)
                        self._holdings.add(held.token, memory)
                        held.memory = memory
                    except BaseException:
                        self._recount()
                        raise

    def value(self, id: str, token: Optional[str]) -> Any:
        """The object itself, for an argument. HandleGone."""
        return self._find(id, token, True)

    def _find(self, id: str, token: Optional[str], lent: bool) -> Any:
        with self._lock:
            freed = self._expired()
            held = self._held.get(id) if isinstance(id, str) else None
            if held is None or token is not None and held.token != token:
                raise HandleGone(self._why(id))
            held.used, held.lent = self._now(), held.lent or lent
            self._held.move_to_end(id)
        del freed
        return held.value

    def call(self, function: str, args: Sequence[Any], token: Optional[str]) -> Any:
        """Runs one of FUNCTIONS. HandleGone, StepError (`bad_arguments`)."""
        if function == "$handle.list" and not args:
            return self.list(token)
        if function == "$handle.release" and all(isinstance(a, str) for a in args):
            return self.release(args, token)
        if not args or not isinstance(args[0], str):
            raise StepError("%s needs the id of a handle first" % function)
        if function == "$handle.get":
            return self.get(args[0], args[1:], token)
        if function == "$handle.make":
            return HandleRef(self.make(args[0], args[1:], token))
        if function == "$handle.info" and len(args) == 1:
            return HandleRef(self.info(args[0], token))
        raise StepError("%s does not take %d arguments" % (function, len(args)))

    def info(self, id: str, token: Optional[str]) -> Dict[str, Any]:
        """HANDLE as it is now, with stats however long these take."""
        value = self._find(id, token, False)
        return {"id": id, **self._describe(value, size_of(value)), **stats_of(value)}

    def get(self, id: str, steps: Sequence[Any], token: Optional[str]) -> Any:
        """The value after the steps."""
        return _steps.apply(self._find(id, token, False), steps)

    def make(self, id: str, steps: Sequence[Any], token: Optional[str]) -> Dict[str, Any]:
        """HANDLE of the value after the steps. It belongs to the same token."""
        value = self.get(id, steps, token)
        with self._lock:
            held = self._held.get(id)
            owner = held.token if held is not None else token or ""
        return self.keep(value, owner)

    def release(self, ids: Sequence[str], token: Optional[str]) -> int:
        """How many of them there were."""
        with self._lock:
            freed = [self._free(id, "it was released") for id in dict.fromkeys(ids)
                     if id in self._held and (token is None or self._held[id].token == token)]
        return len(freed)

    def list(self, token: Optional[str]) -> List[Dict[str, Any]]:
        """HANDLE of each, the one used longest ago first."""
        with self._lock:
            freed = self._expired()
            held = [(id, h.value) for id, h in self._held.items() if token is None or h.token == token]
        del freed
        return [{"id": id, **self._describe(value, size_of(value), False)} for id, value in held]

    def _describe(self, value: Any, size: int, stats: bool = True) -> Dict[str, Any]:
        about = describe(value, size, stats)
        return {**about, "type": self._shown(about["type"]), "preview": self._shown(about["preview"])}

    def revoke(self, known: Container[str]) -> None:
        """Handles of other tokens have expired: the next sweep frees them, outside of all locks."""
        with self._lock:
            for id in [id for id, held in self._held.items() if held.token not in known]:
                self._held[id].used = -math.inf
                self._held.move_to_end(id, last=False)

    def sweep(self) -> None:
        """Frees what has expired, or is too much. The other methods do it, too; an idle worker may do it once a minute."""
        self._measure_again(keys_of(self._variables()))
        with self._lock:
            freed = self._expired() + self._shrink()
        del freed

    # --- with the lock

    def _shrink(self) -> List[Any]:
        """Frees handles until the others are within the limits; never the newest."""
        freed = []
        while len(self._held) > self._count:
            count = Counter(held.token for held in self._held.values())
            freed.append(self._free(self._oldest(count), "it was the one used longest ago of more than %d" % self._count))
        while self._holdings.total > self._bytes and len(self._held) > 1:
            reason = "it was the one used longest ago of more than %d MiB" % max(1, self._bytes >> 20)
            freed.append(self._free(self._oldest(self._holdings.of), reason))
        return freed

    def _oldest(self, weights: Mapping[str, int]) -> str:
        """The handle used longest ago, of the token that has most, but for the newest: nobody pushes those of others out."""
        *older, _ = self._held.items()
        heaviest = max((held.token for _, held in older), key=lambda token: weights.get(token, 0))
        return next(id for id, held in older if held.token == heaviest)

    def _expired(self) -> List[Any]:
        freed, old = [], self._now() - self._seconds
        while self._held:
            id, held = next(iter(self._held.items()))
            if held.used > old:
                break
            freed.append(self._free(id, "it was not used for %g s" % self._seconds))
        return freed

    def _free(self, id: str, reason: str) -> Any:
        held = self._held[id]
        try:
            del self._held[id]
            self._holdings.remove(held.token, held.memory)
        except BaseException:
            self._recount()
            raise
        self._gone[id] = reason
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        return held.value

    def _recount(self) -> None:
        """An interrupt of the call may cut a change short between any two lines."""
        holdings = Holdings()
        for held in self._held.values():
            holdings.add(held.token, held.memory)
        self._holdings = holdings

    def _why(self, id: Any) -> str:
        if isinstance(id, str) and id in self._gone:
            return "the handle %s is gone: %s; call the function again that made it" % (id, self._gone[id])
        return ("there is no handle %.*r here: the worker that had it has ended, or it belongs to another token; "
                "call the function again that made it" % (_LONGEST_NAME, id))


def _memory() -> int:
    """Bytes that this worker may use."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                found.append(int(file.read()))
        except (OSError, ValueError):  # there is no limit
            pass
    return min(found)
