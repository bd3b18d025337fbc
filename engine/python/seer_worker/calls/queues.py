"""Where calls wait that do not run in the main thread: one queue for each function that may run beside others."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

from ..handles.handles import Handles
from ..interface.load import Interface
from ..schema.options import SIDE_BY_SIDE, Options
from ..schema.validate import Binder
from .calls import Call
from .fair_queue import FairQueue

_BRIEF = 0.001  # seconds: such a run is over before a thread could have taken it
_LONG = 0.005
_TRUSTED, _MOST, _LEAST, _LOSS = 16, 40, -100, 4  # how many brief runs count for it; a long one takes some away
_NEVER = -(1 << 60)


class Function(NamedTuple):
    """An exposed function as it is now; a reload makes new ones."""

    name: str
    call: Callable[..., Any]
    options: Options
    binder: Optional[Binder]  # None: a function of every service, whose first argument is the token


class CallQueue:
    """The calls of one function that runs beside others."""

    def __init__(self, limit: int, may_be_brief: bool) -> None:
        self.limit = limit
        self.running = 0
        self.waiting: FairQueue[Call] = FairQueue()
        self._brief = 0 if may_be_brief else _NEVER

    @property
    def brief(self) -> bool:
        """Its runs have been so short that a thread of their own costs more."""
        return self._brief >= _TRUSTED

    def distrust(self) -> None:
        """It has waited for another call: it is never one that may be brief again."""
        self._brief = _NEVER

    def ran(self, seconds: float) -> None:
        """Learns from a run."""
        if self._brief < _LEAST:  # it is not one that may
            return
        if seconds < _BRIEF:
            self._brief = min(self._brief + 1, _MOST)
        elif seconds > _LONG:
            self._brief = max(self._brief - _LOSS if self._brief < _TRUSTED else 0, _LEAST)


class Table:
    """All functions that can be called, and the queues of those that have one."""

    def __init__(self, handles: Handles) -> None:
        self.functions: Dict[str, Function] = {}
        self._queues: Dict[str, CallQueue] = {}
        self._own = [Function(name, _of(handles, name), Options(concurrent=SIDE_BY_SIDE), None) for name in Handles.FUNCTIONS]
        self._exposed: List[str] = []
        self.alone = True  # one function of the user's runs at a time

    def replace(self, interface: Interface) -> None:
        """From now on these are the functions; what waits in a queue stays there."""
        registry = interface.registry
        self._exposed = list(registry.functions)
        self.alone = not any(o.concurrent for o in registry.options.values())
        self.functions = {n: Function(n, f, registry.options[n], interface.binders[n]) for n, f in registry.functions.items()}
        self.functions.update((f.name, f) for f in self._own)
        for f in self.functions.values():
            if f.options.concurrent and f.name in self._queues:
                self._queues[f.name].limit = f.options.concurrent
            elif f.options.concurrent:
                may_be_brief = f.binder is not None and not f.options.stream and not f.options.batch
                self._queues[f.name] = CallQueue(f.options.concurrent, may_be_brief)

    def queue(self, function: Function) -> Optional[CallQueue]:
        """None for one that runs in the main thread."""
        return self._queues[function.name] if function.options.concurrent else None

    @property
    def queues(self) -> List[CallQueue]:
        return list(self._queues.values())

    def exposed(self, allowed: Callable[[str], bool]) -> str:
        """Their names, for a message to who may call these."""
        return ", ".join(filter(allowed, self._exposed))


def _of(handles: Handles, name: str) -> Callable[..., Any]:
    return lambda token, *args: handles.call(name, args, token)
