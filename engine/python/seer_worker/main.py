"""The worker from its first to its last line."""

import json
import os
import signal
import sys
from typing import Any, Dict, List, Tuple

from . import inject, load
from .attendant import Attendant
from .calls import Caller
from .control import Control, ControlClosed
from .describe import describe
from .gate import Gate, Interrupted
from .page import Page
from .scrub import Scrubber
from .service import Service

_CONTROL, _PAGE = 3, 4


def main() -> int:
    parent = os.getppid()
    control = Control(_CONTROL)
    page = Page(_PAGE)
    os.close(_PAGE)  # the mapping stays
    # What ends the worker is the runtime's to say, not a key that was pressed in some terminal.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        message, rest = _first(control)
    except ControlClosed:
        return 0
    gate, service = Gate(), Service(page)
    attendant = Attendant(control, gate, service.adopt, service.leave, parent)
    scrubber = Scrubber(_secrets(message.get("secrets") or []))
    attendant.begin_load(message)
    attendant.start(rest)
    # Nobody may wait for a child of the user's code to end a connection.
    os.register_at_fork(after_in_child=control.close)
    os.register_at_fork(after_in_child=service.forked)
    code = 0
    try:
        interface = gate.run(message, lambda: _load(message))
        description = json.dumps({"t": "ready", "interface": scrubber.tree(describe(interface))})
        attendant.end()
        control.send(description.encode("ascii"))
        service.run(Caller(interface, gate, scrubber), attendant)
    except load.LoadFailed as e:
        control.send(json.dumps({"t": "failed", "error": scrubber.tree(e.error)}).encode("ascii"))
        code = 1
    except Interrupted:  # stopped while loading
        pass
    attendant.finish(code)
    return code


def _first(control: Control) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
    messages: List[Dict[str, Any]] = []
    while not messages:
        messages = control.receive()
    if messages[0]["t"] != "load":
        raise ControlClosed("the first control line must be load")
    return messages[0], messages[1:]


def _secrets(names: List[str]) -> List[Tuple[str, str]]:
    return [(name, os.environ.get(name, "")) for name in names]


def _load(message: Dict[str, Any]) -> load.Interface:
    path, filename = message["path"], message["filename"]
    workdir = message.get("workdir") or ""
    sys.argv = [path]
    sys.path[:0] = load.search_path(path, workdir)
    if os.path.isdir(workdir):
        os.chdir(workdir)
    models = inject.Models(message.get("models") or [])
    models.set_environment()
    return load.load(path, filename, models)
