"""The model's script for a whole sandbox: a notebook task or a shell task, through the
interfaces of model.py, which lies beside this file.

usage: scripted.py notebook|shell LOG; the port is the first line of its output"""

from __future__ import annotations

import json
import re
import sys
from typing import Container, List, Optional, Tuple

from model import Call, Handler, serve

Results = List[Tuple[str, str]]

PICTURE = """import struct, zlib
from IPython.display import Image
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + b"\\xff\\0\\0" * 40 for _ in range(30))
Image(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))"""

NOTEBOOK = [
    Call("start_new_session", {"experiment_name": "probing"}),
    Call("execute_code", {"code": "import helper\nfor i in range(3):\n    print('\\x1b[31mline', i, flush=True)\nhelper.greet('é'), open('data.csv').read()"}),
    Call("execute_code", {"code": PICTURE}),
    Call("execute_code", {"code": "for i in range(20000):\n    print('long', i)"}),
    Call("execute_code", {"code": "x = 6\nx / 0"}),
    Call("edit_cell", {"code": "x = 6\nx * 7"}),
    Call("execute_code", {"code": "import time\nfor i in range(8):\n    print('step', i, flush=True)\n    time.sleep(0.5)\n'trained'", "timeout": 1}),
    Call("wait_execution", {"timeout": 60}),
    Call("add_markdown", {"content": "# Findings"}),
    Call("variables", {"name": "x"}),
    Call("read_notebook", {}),
]

SHELL = [
    Call("run_command", {"command": "cat data.csv; python3 -c 'import helper; print(helper.greet(\"é\"))'; ls \"$MODEL_TINY_MODEL_PATH\"; exit 3"}),
    Call("run_python", {"code": "import helper\nx = 6"}),
    Call("run_python", {"code": "print(helper.greet('again'))\nx * 7"}),
    Call("write_file", {"path": "notes é/result.txt", "content": "one\ntwo\n"}),
    Call("edit_file", {"path": "notes é/result.txt", "old": "two", "new": "three"}),
    Call("read_file", {"path": "notes é/result.txt"}),
    Call("list_files", {"path": "notes é"}),
    Call("start_process", {"command": "for i in $(seq 6); do echo tick $i; sleep 0.5; done; echo over", "name": "ticks"}),
    Call("wait_process", {"timeout": 60}),
    Call("start_process", {"command": "sleep 1000", "name": "endless"}),
    Call("stop_process", {}),
    Call("download", {"path": "notes é/result.txt", "to": "outputs/result.txt"}),
]

WAITING = {"wait_execution": "execution_id", "wait_process": "process_id"}


def last_id(results: Results, key: str) -> str:
    """The newest id of that name that a tool has answered with."""
    for _, text in reversed(results):
        found = re.findall(rf'{key}\W+([A-Za-z0-9_.-]+)', text)
        if found:
            return found[-1]
    return "none"


def with_id(call: Call, results: Results) -> Call:
    key = WAITING.get(call.tool) or ("process_id" if call.tool == "stop_process" else "")
    return Call(call.tool, {key: last_id(results, key), **call.arguments}) if key else call


class Scripted(Handler):
    steps: List[Call] = []
    skill = "probing-models"

    def plan(self, results: Results, known: Container[str]) -> Optional[Call]:
        own = [r for r in results if r[0] in {c.tool for c in self.steps}]
        done = 0  # steps; one that waits may take several calls
        for i, (tool, text) in enumerate(own):
            still = tool in WAITING and re.search(r'state\W+running', text) and i < 40
            if still and i == len(own) - 1:
                return with_id(self.steps[done], own)
            done += not still
        if done < len(self.steps):
            return with_id(self.steps[done], own)
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
