"""The model's script for a whole sandbox: a notebook task or a shell task, through the
interfaces of model.py, which lies beside this file.

usage: scripted.py notebook|shell LOG; the port is the first line of its output"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Container, Dict, List, NamedTuple, Optional, Tuple

from model import Call, Handler, serve

Results = List[Tuple[str, str]]


class Step(NamedTuple):
    """A call of a tool, which is made again until its answer has these words."""

    tool: str
    arguments: Dict[str, Any]
    until: str = ""


PICTURE = """import struct, zlib
from IPython.display import Image
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + b"\\xff\\0\\0" * 40 for _ in range(30))
Image(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))"""

ENDLESS = """import itertools, time
try:
    for i in itertools.count():
        print('step', i, flush=True)
        time.sleep(0.1)
except KeyboardInterrupt:
    pass
'trained'"""

NOTEBOOK = [
    Step("start_new_session", {"experiment_name": "probing"}),
    Step("execute_code", {"code": "import helper\nfor i in range(3):\n    print('\\x1b[31mline', i, flush=True)\nhelper.greet('é'), open('data.csv').read()"}),
    Step("execute_code", {"code": PICTURE}),
    Step("execute_code", {"code": "for i in range(20000):\n    print('long', i)"}),
    Step("execute_code", {"code": "x = 6\nx / 0"}),
    Step("edit_cell", {"code": "x = 6\nx * 7"}),
    Step("execute_code", {"code": ENDLESS, "timeout": 1}),
    Step("wait_execution", {"timeout": 1}, until="step 7"),
    Step("interrupt", {}),
    Step("wait_execution", {"timeout": 60}, until="trained"),
    Step("add_markdown", {"content": "# Findings"}),
    Step("variables", {"name": "x"}),
    Step("read_notebook", {}),
]

SHELL = [
    Step("run_command", {"command": "cat data.csv; python3 -c 'import helper; print(helper.greet(\"é\"))'; ls \"$MODEL_TINY_MODEL_PATH\"; exit 3"}),
    Step("run_python", {"code": "import helper\nx = 6"}),
    Step("run_python", {"code": "print(helper.greet('again'))\nx * 7"}),
    Step("write_file", {"path": "notes é/result.txt", "content": "one\ntwo\n"}),
    Step("edit_file", {"path": "notes é/result.txt", "old": "two", "new": "three"}),
    Step("read_file", {"path": "notes é/result.txt"}),
    Step("list_files", {"path": "notes é"}),
    Step("start_process", {"command": "for i in $(seq 6); do echo tick $i; sleep 0.5; done; echo over", "name": "ticks"}),
    Step("wait_process", {"timeout": 60}, until="exited"),
    Step("start_process", {"command": "sleep 1000", "name": "endless"}),
    Step("stop_process", {}),
    Step("download", {"path": "notes é/result.txt", "to": "outputs/result.txt"}),
]

OF = {"wait_execution": "execution_id", "wait_process": "process_id", "stop_process": "process_id"}


def last_id(results: Results, key: str) -> str:
    """The newest id of that name that a tool has answered with."""
    for _, text in reversed(results):
        found = re.findall(rf'{key}\W+([A-Za-z0-9_.-]+)', text)
        if found:
            return found[-1]
    return "none"


def call_of(step: Step, results: Results, again: int) -> Call:
    """Each time other arguments: an agent may take the same call for one that goes round in circles."""
    arguments = dict(step.arguments)
    if step.tool in OF:
        arguments = {OF[step.tool]: last_id(results, OF[step.tool]), **arguments}
    if again:
        arguments["timeout"] += again
    return Call(step.tool, arguments)


class Scripted(Handler):
    steps: List[Step] = []
    skill = "probing-models"

    def plan(self, results: Results, known: Container[str]) -> Optional[Call]:
        own = [r for r in results if r[0] in {c.tool for c in self.steps}]
        done = again = 0
        for _, text in own:
            again = 0 if done == len(self.steps) or self.steps[done].until in text or again > 40 else again + 1
            done += not again
        if done < len(self.steps):
            return call_of(self.steps[done], own, again)
        if "Skill" in known and "Skill" not in dict(results):
            return Call("Skill", {"skill": self.skill})
        return None


def main() -> None:
    task, log = sys.argv[1:]
    Scripted.steps = {"notebook": NOTEBOOK, "shell": SHELL}[task]
    Scripted.mark = Scripted.steps[0].tool
    Scripted.prefix = {"notebook": "notebook", "shell": "sandbox"}[task]
    with open(log, "w", encoding="utf-8") as f:
        f.write(json.dumps({"tool": "task", "result": task}) + "\n")
    serve(Scripted, log)


if __name__ == "__main__":
    main()
