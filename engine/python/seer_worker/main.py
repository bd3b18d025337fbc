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
from .io_thread import IOThread
from .process import children, gpu_share
from .process.interrupts import Interrupted, Interrupts
from .reactor import Reactor
from .rotate import begin_anew
from .transport.control import Listener
from .transport.usage_page import UsagePage
from .wiring import Wiring

_CONTROL, _PAGE, _OUTPUTS, _LIFE = 3, 4, (5, 6), 7
_GRACE = 3.0  # seconds for exit handlers, and for a call that was told to end


class Worker:
    """What the runtime says, and how far the worker has come."""

    def __init__(self) -> None:
        self.listener = Listener(_CONTROL)
        self.page = UsagePage(_PAGE)
        for fd in (_PAGE, *_OUTPUTS):  # they stay open for the runtimes to come
            os.set_inheritable(fd, False)
        self.interrupts = Interrupts()
        self.reactor = Reactor(self.listener, self._hello, self._obey, self._lost)
        self.io_thread = IOThread(self.reactor, self._held_up)
        self.wiring: Optional[Wiring] = None
        self._state: Dict[str, Any] = {"state": "new"}
        self._order: Dict[str, Any] = {}  # the load message
        self._early: List[Tuple[Dict[str, Any], Optional[int]]] = []
        self._stopped = False

    # --- the runtime; with the lock of the reactor

    def _hello(self) -> Tuple[Dict[str, Any], Tuple[int, ...]]:
        return {"t": "hello", "pid": os.getpid(), **self._state}, (_PAGE, *_OUTPUTS)

    def _obey(self, message: Dict[str, Any], fd: Optional[int]) -> None:
        kind, wiring = message["t"], self.wiring
        if kind == "load" and not self._order:
            self._order = message
            self.reactor.orphan = float(message.get("orphan_seconds") or self.reactor.orphan)
            self._state = {"state": "loading", "generation": message.get("generation", 0)}
        elif kind == "conn":
            if wiring is None and not self._stopped:
                self._early.append((message, fd))
            else:
                welcome = message.get("runtime") is True or not wiring.dispatcher.leaving if wiring is not None else False
                self.reactor.adopt(fd, message, welcome and not self._stopped)
        elif kind == "stop":
            self._stop()
        elif kind == "reload" and wiring is not None:
            wiring.service.edited = message
            self.reactor.wake()
        elif kind == "unreload" and wiring is not None:
            wiring.unreload(int(message.get("generation") or 0))
        elif kind == "tokens" and wiring is not None:
            wiring.tokens(message)
        elif kind == "renew" and wiring is not None:
            begin_anew(wiring.scheduler, wiring.journal)
            self.reactor.wake()
        elif kind == "leaving" and wiring is not None:
            self.reactor.last_frames(False)
            wiring.dispatcher.leave()
        elif kind == "staying" and wiring is not None and not self._stopped:
            self.reactor.hear()
            wiring.dispatcher.stay()
        elif kind == "drained" and wiring is not None:
            wiring.journal.drained(int(message.get("segment") or 0))
        elif kind == "record" and wiring is not None:
            wiring.recording.prolong(float(message.get("seconds") or 0))

    def _stop(self) -> None:
        self._stopped = True
        if self.wiring is None:
            self.interrupts.interrupt(self._order, "cancelled")
        else:
            self.wiring.service.leaving = True
            self.reactor.last_frames()
        self.reactor.wake()

    def _lost(self) -> None:
        """No runtime has come for too long: nobody can use this service any more."""
        self._stopped = True
        _end_in_time(0)
        if self.wiring is not None:
            self.wiring.give_up()
        self.interrupts.interrupt(self._order, "cancelled")
        self.reactor.wake()

    def _held_up(self, seconds: float) -> float:
        return self.wiring.concurrent.held_up(seconds) if self.wiring is not None else 60.0

    # --- the main thread

    def run(self) -> int:
        """Until the runtime says stop, or stays away."""
        while not self._order and not self._stopped:
            with self.reactor.lock:
                pause = self.reactor.tick(time.monotonic())
            ready = self.reactor.poller.wait(pause)
            with self.reactor.lock:
                self.reactor.serve(ready)
        self.io_thread.start()
        os.register_at_fork(after_in_child=self.reactor.forked)
        secrets = [(name, os.environ.get(name, "")) for name in self._order.get("secrets") or []]
        scrubber = Scrubber(secrets, self._order.get("models") or [])
        try:
            wiring = self.interrupts.run(self._order, self._load, scrubber)
            wiring.service.run(wiring.runner, wiring.concurrent, wiring.batches, wiring.reload)
        except load.LoadFailed as e:
            return self._failed(scrubber.tree(e.error))
        except Interrupted:  # stopped while loading
            pass
        return 0

    def _load(self, scrubber: Scrubber) -> Wiring:
        order = self._order
        if self._stopped:
            raise Interrupted
        output = Output(scrubber.text, [os.environ.get(name, "") for name in order.get("secrets") or []], scrubber.hides)
        output.install()
        children.install()
        gpu_share.keep(os.environ)
        interface = _interface(order)
        wiring = Wiring(order, interface, self.reactor, self.page, self.interrupts, self.io_thread, scrubber, output)
        description = scrubber.tree(describe(interface))
        self.interrupts.outside(order, self._ready, wiring, description)
        return wiring

    def _ready(self, wiring: Wiring, description: Dict[str, Any]) -> None:
        with self.reactor.lock:
            self.wiring = wiring
            self._state = {"state": "ready", "interface": description, "generation": self._order.get("generation", 0)}
            wiring.told = self._told
            wiring.open()
            self.reactor.tell({"t": "ready", "interface": description})
            for message, fd in self._early:
                self.reactor.adopt(fd, message, True)

    def _told(self, interface: Any, generation: int) -> None:
        """After a reload."""
        self._state.update(interface=interface, generation=generation)

    def _failed(self, error: Dict[str, Any]) -> int:
        with self.reactor.lock:
            self._state = {"state": "failed", "error": error, "generation": self._order.get("generation", 0)}
            self.reactor.tell({"t": "failed", "error": error})
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
    datasets = inject.Datasets(order.get("datasets") or [])
    models.set_environment()
    datasets.set_environment()
    return load.load(path, filename, models, datasets)


def _end_in_time(code: int) -> None:
    """What user code left behind must not keep the process."""
    def end() -> None:
        time.sleep(_GRACE)
        os._exit(code)

    threading.Thread(target=end, name="seer-end", daemon=True).start()


