"""What an agent was told and what it has left. usage: check.py AGENT TASK ISOLATION WORKSPACE OUTPUTS REQUESTS.jsonl"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Dict, List

import nbformat

sys.path.insert(0, str(Path(__file__).parent.parent / "agents"))
import told  # noqa: E402

agent, task, isolation, workspace, outputs = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), Path(sys.argv[5])
log = sys.argv[6]
said: Dict[str, List[str]] = {}
for tool, text in told.read(log, {"notebook": "notebook", "shell": "sandbox"}[task]):
    said.setdefault(tool, []).append(text)


def fail(text: str) -> None:
    raise SystemExit(f"{agent}, {task} in {isolation}: {text}")


def expect(tool: str, number: int, *parts: str) -> None:
    answers = said.get(tool, [])
    text = answers[number] if len(answers) > number else f"(was called {len(answers)} times)"
    text = text.replace("\\\\", "\\").replace('\\"', '"')
    for part in parts:
        if part not in text:
            fail(f"answer {number} of {tool} is {text[:3000]!r}, without {part!r}")


def notebook() -> None:
    expect("start_new_session", 0, "_probing.ipynb", "session_id")
    expect("execute_code", 0, "line 0", "line 2", "hello é", "a,b")
    if "\x1b" in said["execute_code"][0] or "u001b" in said["execute_code"][0]:
        fail("colours were not left out")
    expect("execute_code", 1, "image")
    expect("execute_code", 2, "long 0", "long 19999", "bytes left out")
    if len(said["execute_code"][2]) > 100_000:
        fail(f"the long output has {len(said['execute_code'][2])} characters")
    expect("execute_code", 3, "ZeroDivisionError", "x / 0")
    expect("edit_cell", 0, "42")
    expect("execute_code", 4, "wait_execution")
    expect("wait_execution", -2, "running", "step 7", "wait_execution")
    expect("interrupt", 0, "session_id")
    expect("wait_execution", -1, "step 7", "trained")
    expect("variables", 0, "int", "6")
    expect("read_notebook", 0, "import helper", "# Findings", "trained")
    books = list(outputs.glob("*.ipynb"))
    if len(books) != 1:
        fail(f"the notebooks in outputs are {books}")
    book = nbformat.read(books[0], as_version=4)
    nbformat.validate(book)
    kinds = [c.cell_type for c in book.cells]
    if kinds != ["code"] * 5 + ["markdown"]:
        fail(f"the saved cells are {kinds}")
    saved = [json.dumps(c.get("outputs"), ensure_ascii=False) for c in book.cells]
    for number, part in enumerate(["hello é", "image/png", "long 19999", "42", "trained"]):
        if part not in saved[number]:
            fail(f"cell {number} was saved with {saved[number][:500]}, without {part!r}")


def shell() -> None:
    expect("run_command", 0, "a,b", "hello é", "config.json", '"exit_code"', "3")
    expect("run_python", 1, "hello again", "42")
    expect("write_file", 0, "size")
    expect("edit_file", 0, "replaced")
    expect("read_file", 0, "three")
    expect("list_files", 0, "result.txt")
    expect("start_process", 0, "process_id")
    expect("wait_process", -1, "over", "exited")
    expect("stop_process", 0, "signal")
    expect("download", 0, "size")
    if (outputs / "result.txt").read_text(encoding="utf-8") != "one\nthree\n":
        fail("what was downloaded is not what was written")


if agent == "claude":  # the others list it, but only this one has a tool that loads it
    expect("Skill", 0, "probing-models")
if "How a model is probed in this test" not in told.request_with(log, "probing-models"):
    fail("the model was not told of the skill")
prompt = (workspace / "prompt.md").read_text(encoding="utf-8")
for part in ["Probe the tiny model.", "tiny-model", "MODEL_TINY_MODEL_PATH", "helper", "Greets whoever is probed", "/workspace"]:
    if part not in prompt:
        fail(f"the prompt is {prompt!r}, without {part!r}")
if not told.request_with(log, "Greets whoever is probed"):
    fail("the model was not given the prompt")
{"notebook": notebook, "shell": shell}[task]()
if (workspace / "session.json").exists() or (workspace / "mcp.json").exists():
    fail("a key stays in the workspace")
print(f"{agent}, {task} in {isolation}: {sum(map(len, said.values()))} answers")
