"""What a run has left. usage: check.py AGENT KIND RUN.json EVAL PAGE"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict

from inspect_ai.log import read_eval_log

agent, kind, summary, log, page = sys.argv[1], sys.argv[2], *sys.argv[3:]
run: Dict[str, Any] = json.loads(Path(summary).read_text(encoding="utf-8"))
run = run.get("run", run)


def fail(text: str) -> None:
    raise SystemExit(f"{agent}, {kind}: {text}\n{json.dumps(run, indent=1)[:3000]}")


def expect(field: str, wanted: Any) -> None:
    if run.get(field) != wanted:
        fail(f"{field} is {run.get(field)!r} and not {wanted!r}")


expect("provider", agent)
expect("state", {"interrupted": "stopped", "crash": "failed"}.get(kind, "finished"))
if kind in ("library", "mcp", "notebook"):
    expect("exit_code", 0)
if kind == "crash" and not run.get("exit_code"):
    fail("a program that was killed has no exit code but 0")
if kind == "library":
    expect("calls", 1)
    if not 2000 <= run["input_tokens"] < 2010 or not 200 <= run["output_tokens"] < 210:  # opencode also asks for a title
        fail("the tokens are not those that the model has stated")
    answer = Path(run["folder"], "outputs", "answer é.txt").read_text(encoding="utf-8")
    if answer != "5":
        fail(f"the answer is {answer!r}")
if kind == "mcp" and run["calls"] < 7:
    fail("calls are missing")
events = [json.loads(line) for line in Path(run["folder"], "events.jsonl").read_text(encoding="utf-8").splitlines()]
text = json.dumps(events)
if "real-key" in text:
    fail("the log has the key")
if [e["seq"] for e in events] != list(range(1, len(events) + 1)):
    fail("the log has gaps")
kinds = {e["data"]["update"]["sessionUpdate"] for e in events if e["type"] == "agent.update"}
if kind in ("library", "mcp") and not {"agent_message_chunk", "tool_call", "tool_call_update"} <= kinds:
    fail(f"the updates are {kinds}")
status = read_eval_log(log).status
if status != {"interrupted": "cancelled", "crash": "error"}.get(kind, "success"):
    fail(f"the status in Inspect is {status}")
html = Path(page).read_text(encoding="utf-8")
if "</html>" not in html or kind == "library" and "The answer is 5." not in html:
    fail("the page is not whole")
print(f"{agent}, {kind}: {len(events)} events, {run['model_requests']} requests")
