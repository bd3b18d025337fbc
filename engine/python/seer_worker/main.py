"""The worker from its first to its last line."""

import os
import signal
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from . import loader_watch
from .execution.output import Output
from .interface import inject, load
from .interface.describe import describe
from .interface.scrub import Scrubber
from .io_thread import Attendant
from .process import children
from .process.interrupts import Gate, Interrupted
from .reactor import Hub
from .rotate import begin_anew
from .transport.control import Listener
from .transport.usage_page import Page
from .wiring import Build

_CONTROL, _PAGE, _OUTPUTS, _LIFE = 3, 4, (5, 6), 7
_GRACE = 3.0  # seconds for exit handlers, and for a call that was told to end


class Worker:
    """What the runtime says, and how far the worker has come."""

    def __init__(self) -> None:
        self.listener = Listener(_CONTROL)
        self.page = Page(_PAGE)
        for fd in (_PAGE, *_OUTPUTS):  # they stay open for the runtimes to come
            os.set_inheritable(fd, False)
        self.gate = Gate()
        self.hub = Hub(self.listener, self._hello, self._obey, self._lost)
        self.attendant = Attendant(self.hub, self._held_up)
        self.build: Optional[Build] = None
        self._state: Dict[str, Any] = {"state": "new"}
        self._order: Dict[str, Any] = {}  # the load message
        self._early: List[Tuple[Dict[str, Any], Optional[int]]] = []
        self._stopped = False

    # --- the runtime; with the lock of the hub

    def _hello(self) -> Tuple[Dict[str, Any], Tuple[int, ...]]:
        return {"t": "hello", "pid": os.getpid(), **self._state}, (_PAGE, *_OUTPUTS)

    def _obey(self, message: Dict[str, Any], fd: Optional[int]) -> None:
        kind, build = message["t"], self.build
        if kind == "load" and not self._order:
            self._order = message
            self.hub.orphan = float(message.get("orphan_seconds") or self.hub.orphan)
            self._state = {"state": "loading", "generation": message.get("generation", 0)}
        elif kind == "conn":
            if build is None and not self._stopped:
                self._early.append((message, fd))
            else:
                welcome = message.get("runtime") is True or not build.reception.leaving if build is not None else False
                self.hub.adopt(fd, message, welcome and not self._stopped)
        elif kind == "stop":
            self._stop()
        elif kind == "reload" and build is not None:
            build.service.edited = message
            self.hub.wake()
        elif kind == "tokens" and build is not None:
            build.tokens(message)
        elif kind == "renew" and build is not None:
            begin_anew(build.desk, build.journal)
            self.hub.wake()
        elif kind == "leaving" and build is not None:
            self.hub.last_frames(False)
            build.reception.leave()
        elif kind == "staying" and build is not None and not self._stopped:
            self.hub.hear()
            build.reception.stay()
        elif kind == "drained" and build is not None:
            build.journal.drained(int(message.get("segment") or 0))

    def _stop(self) -> None:
        self._stopped = True
        if self.build is None:
            self.gate.interrupt(self._order, "cancelled")
        else:
            self.build.service.leaving = True
            self.hub.last_frames()
        self.hub.wake()

    def _lost(self) -> None:
        """No runtime has come for too long: nobody can use this service any more."""
        self._stopped = True
        _end_in_time(0)
        if self.build is not None:
            self.build.give_up()
        self.gate.interrupt(self._order, "cancelled")
        self.hub.wake()

    def _held_up(self, seconds: float) -> float:
        return self.build.side.held_up(seconds) if self.build is not None else 60.0

    # --- the main thread

    def run(self) -> int:
        """Until the runtime says stop, or stays away."""
        while not self._order and not self._stopped:
            with self.hub.lock:
                pause = self.hub.tick(time.monotonic())
            ready = self.hub.poller.wait(pause)
            with self.hub.lock:
                self.hub.serve(ready)
        self.attendant.start()
        os.register_at_fork(after_in_child=self.hub.forked)
        secrets = [(name, os.environ.get(name, "")) for name in self._order.get("secrets") or []]
        scrubber = Scrubber(secrets, self._order.get("models") or [])
        try:
            build = self.gate.run(self._order, self._load, scrubber)
            build.service.run(build.runner, build.side, build.batches, build.reload)
        except load.LoadFailed as e:
            return self._failed(scrubber.tree(e.error))
        except Interrupted:  # stopped while loading
            pass
        return 0

    def _load(self, scrubber: Scrubber) -> Build:
        order = self._order
        if self._stopped:
            raise Interrupted
        output = Output(scrubber.text, [os.environ.get(name, "") for name in order.get("secrets") or []], scrubber.hides)
        output.install()
        children.install()
        interface = _interface(order)
        build = Build(order, interface, self.hub, self.page, self.gate, self.attendant, scrubber, output)
        description = scrubber.tree(describe(interface))
        self.gate.outside(order, self._ready, build, description)
        return build

    def _ready(self, build: Build, description: Dict[str, Any]) -> None:
        with self.hub.lock:
            self.build = build
            self._state = {"state": "ready", "interface": description, "generation": self._order.get("generation", 0)}
            build.told = self._told
            build.open()
            self.hub.tell({"t": "ready", "interface": description})
            for message, fd in self._early:
                self.hub.adopt(fd, message, True)

    def _told(self, interface: Any, generation: int) -> None:
        """After a reload."""
        self._state.update(interface=interface, generation=generation)

    def _failed(self, error: Dict[str, Any]) -> int:
        with self.hub.lock:
            self._state = {"state": "failed", "error": error, "generation": self._order.get("generation", 0)}
            self.hub.tell({"t": "failed", "error": error})
        return 1


def main() -> int:
    """The exit code. Descriptors 3 to 7 are what docs/protocol.md, section 6, says."""
    # What ends the worker is the runtime's to say, not a key that was pressed in some terminal.
    signal.signal(signal.SIGINT, lambda *_: None)
    worker = Worker()
    loader_watch.end_with(_LIFE)
    code = worker.run()
    _end_in_time(code)
    return code


def _interface(order: Dict[str, Any]) -> load.Interface:
    path, filename, workdir = order["path"], order["filename"], order.get("workdir") or ""
    sys.argv = [path]
    sys.path[:0] = load.search_path(path, workdir)
    if os.path.isdir(workdir):
        os.chdir(workdir)
    models = inject.Models(order.get("models") or [])
    models.set_environment()
    return load.load(path, filename, models)


def _end_in_time(code: int) -> None:
    """What user code left behind must not keep the process."""
    def end() -> None:
        time.sleep(_GRACE)
        os._exit(code)

    threading.Thread(target=end, name="seer-end", daemon=True).start()


