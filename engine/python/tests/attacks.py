"""The attacks of worker_attacks_test.go: `attacks.py NAME defended|open` prints what refused the attack, or "succeeded"."""

import os
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy

from seer_worker.handles.facts import size_of
from seer_worker.handles.handles import Handles
from seer_worker.handles.memory import Memory
from seer_worker.policy import limits_schema
from seer_worker.transport.frames import Decoder
from seer_worker.transport.intake import Intake, Passed

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness

MIB = 1 << 20
CODE = """
import os, time

@expose
def secret(path=""):
    while path and not os.path.exists(path):
        time.sleep(0.005)
    return "the secret"
"""
OPEN_MAIN = """
import sys
sys.path.insert(0, %r)
from seer_worker.calls import dispatcher
dispatcher.owns = lambda token, owner: True
from seer_worker.main import main
sys.exit(main())
"""


def views(defended: bool, keep: Callable[[Handles, Any], Any]) -> str:
    """Views of arrays that are given back: more memory stays than handle_bytes allows."""
    handles = Handles({"handle_bytes": 50 * MIB})
    if not defended:
        handles._compact = lambda value, spared, most: value
        handles._measure = lambda value, spared=(): Memory(size_of(value), {}, set())
    freed = []

    class Array(numpy.ndarray):
        """Says when its memory is given back."""

        def __del__(self) -> None:
            freed.append(self.nbytes if self.base is None else 0)

    for _ in range(20):
        keep(handles, numpy.ndarray.__new__(Array, 40 * MIB, "u1"))
    held = (20 * 40 * MIB - sum(freed)) // MIB
    return "succeeded" if held > 100 else "the handles hold %d MiB of 800" % held


def step(handles: Handles, array: Any) -> None:
    base = handles.keep(array, "t-agent")["id"]
    handles.make(base, [["index", {"slice": [0, 10]}]], "t-agent")
    handles.release([base], "t-agent")


def box(defended: bool) -> str:
    """A list that a function fills after it became a handle."""
    handles = Handles({"handle_bytes": 50 * MIB})
    if not defended:
        handles._measure_again = lambda spared: None
    id = handles.keep([], "t-agent")["id"]
    try:
        for _ in range(20):
            handles.value(id, "t-agent").append(numpy.zeros(40 * MIB, "u1"))
            handles.keep(0, "t-agent")
    except LookupError:
        pass
    except Exception as e:
        return str(e)
    return "succeeded"


def backtracking(defended: bool) -> str:
    """A text on which a pattern takes years."""
    if not defended:
        import re
        limits_schema.matcher = lambda pattern: (lambda text, search=re.compile(pattern).search: search(text) is not None)
    test = limits_schema.compile({"pattern": "^(a+)+$"})
    done = []
    # re keeps all other threads waiting: a watchdog of the system ends it, and not one of Python.
    child = os.fork()
    if child == 0:
        done.append(test("a" * 60 + "!"))
        os._exit(0)
    timer = threading.Event()
    for _ in range(20 * (600 if defended else 5)):  # without the defence, no time is enough
        if os.waitpid(child, os.WNOHANG)[0]:
            return "answered at once"
        timer.wait(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "succeeded"


def digits(defended: bool) -> str:
    """Digits of another script pass a pattern of digits."""
    if not defended:
        import re
        limits_schema.matcher = lambda pattern: (lambda text, search=re.compile(pattern).search: search(text) is not None)
    return limits_schema.compile({"pattern": r"^\d+$"})("\u0661\u0662") or "succeeded"


def foreign(defended: bool, attack: Callable[[Any, Any, Any], str]) -> str:
    """A token uses the name of another one's call."""
    with tempfile.TemporaryDirectory() as folder:
        if not defended:
            harness.MAIN = Path(folder) / "main.py"
            harness.MAIN.write_text(OPEN_MAIN % str(harness.HERE.parent))
        with harness.serve(CODE, journal=Path(folder) / "journal") as worker:
            return attack(worker, worker.connect(token="t-victim"), worker.connect(token="t-agent"))


def answer(peer: Any, name: str) -> str:
    for header, body in peer.events(name):
        if header["t"] == "result":
            return "succeeded" if b"the secret" in body else "another answer: %r" % body
        if header["t"] == "error":
            return str(header["error"])
    return "no answer"


def by_name(worker: Any, victim: Any, agent: Any) -> str:
    victim.start("secret", call_id="call-0001", options={"ack": []})
    victim.answer("call-0001")
    agent.start("secret", call_id="call-0001")
    return answer(agent, "call-0001")


def by_attaching(worker: Any, victim: Any, agent: Any) -> str:
    go = worker.folder / "go"
    victim.start("secret", str(go), call_id="call-0001", options={"ack": []})
    harness.eventually(lambda: [c["state"] for c in victim.calls()] == ["running"], "the call to run")
    agent.send({"t": "attach", "id": "call-0001"})
    agent.send({"t": "calls"})
    header, _ = agent.read()  # a refusal comes before the calls
    go.touch()
    return str(header["error"]) if header["t"] == "error" else answer(agent, "call-0001")


def after_a_restart(worker: Any, victim: Any, agent: Any) -> str:
    victim.start("secret", call_id="call-0001", options={"ack": []})
    victim.answer("call-0001")
    worker.process.kill()
    worker.process.wait()
    with harness.serve(CODE, journal=worker.journal) as second:
        agent = second.connect(token="t-agent")
        agent.send({"t": "attach", "id": "call-0001"})
        return answer(agent, "call-0001")


def cancelled(worker: Any, victim: Any, agent: Any) -> str:
    go = worker.folder / "go"
    victim.start("secret", str(go), call_id="call-0001")
    harness.eventually(lambda: [c["state"] for c in victim.calls()] == ["running"], "the call to run")
    agent.send({"t": "cancel", "id": "call-0001"})
    agent.send({"t": "calls"})
    agent.read()
    go.touch()  # the cancel has been heard, and the call still runs
    said = answer(victim, "call-0001")
    return "succeeded" if "cancelled" in said else "it went on to its answer"


def unfinished(defended: bool) -> str:
    """Calls whose arguments never end, on many connections: the worker's memory fills."""
    intake = Intake(10 * MIB)
    decoders = [Decoder(partial(intake.reader, "t-agent")) if defended else Decoder() for _ in range(20)]
    for decoder in decoders:
        decoder.feed(harness.frame({"t": "call", "id": "call-0001", "fn": "f"}, b"x" * 5 * MIB)[:4 * MIB])
    held = sum(5 for d in decoders if d.reader is not None and not isinstance(d.reader, Passed))
    return "succeeded" if held > 10 else "the worker holds %d MiB of 100" % held


ATTACKS: Dict[str, Callable[[bool], str]] = {
    "views": lambda defended: views(defended, step),
    "views in lists": lambda defended: views(defended, lambda handles, array: handles.keep([array[:10]], "t-agent")),
    "by name": lambda defended: foreign(defended, by_name),
    "by attaching": lambda defended: foreign(defended, by_attaching),
    "after a restart": lambda defended: foreign(defended, after_a_restart),
    "cancelled": lambda defended: foreign(defended, cancelled),
    "unfinished": unfinished,
    "box": box, "backtracking": backtracking, "digits": digits}

if __name__ == "__main__":
    print(ATTACKS[sys.argv[1]](sys.argv[2] == "defended"))
