"""What a run has left. usage: check.py AGENT KIND RUN.json EVAL PAGE REQUESTS.jsonl"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Dict, List, Set

from inspect_ai.log import read_eval_log

agent, kind, summary, log, page, requests = sys.argv[1:]
run: Dict[str, Any] = json.loads(Path(summary).read_text(encoding="utf-8"))
run = run.get("run", run)


def fail(text: str) -> None:
    raise SystemExit(f"{agent}, {kind}: {text}\n{json.dumps(run, indent=1)[:3000]}")


def expect(field: str, wanted: Any) -> None:
    if run.get(field) != wanted:
        fail(f"{field} is {run.get(field)!r} and not {wanted!r}")


def own_tools() -> Set[str]:
    """The tools that the program has offered its model."""
    found: Set[str] = set()
    for line in Path(requests).read_text(encoding="utf-8").splitlines():
        for tool in json.loads(line)["request"].get("tools") or []:
            parts: List[Dict[str, Any]] = tool.get("functionDeclarations") or [tool.get("function") or tool]
            found.update(part["name"] for part in parts)
    return found


expect("provider", agent)
expect("state", {"interrupted": "stopped", "killed": "interrupted", "crash": "failed", "slow": "failed"}.get(kind, "finished"))
if kind in ("library", "activations", "mcp", "notebook"):
    expect("exit_code", 0)
if kind == "crash" and not run.get("exit_code"):
    fail("a program that was killed has no exit code but 0")
if kind == "library":
    expect("calls", 2)
    if not 2000 <= run["input_tokens"] < 2010 or not 200 <= run["output_tokens"] < 210:  # opencode also asks for a title
        fail("the tokens are not those that the model has stated")
    report = Path(run["folder"], "outputs", "report.md").read_text(encoding="utf-8").splitlines()
    if report[:3] != ["## Result", "- **num_layers**: 2", "- **hidden_size**: 24"] or not report[4].startswith("- **embedding**: 24 numbers, first "):
        fail(f"the report is {report}")
if kind == "activations":
    expect("calls", 10)
    results: Dict[str, List[Any]] = {}
    for line in Path(run["folder"], "record", "calls.jsonl").read_text(encoding="utf-8").splitlines():
        made_call = json.loads(line)
        body = Path(run["folder"], "record", "bodies", made_call["result"][:2], made_call["result"])
        results.setdefault(made_call["function"], []).append(json.loads(body.read_text(encoding="utf-8")))
    if any(set(r) != {"activations", "shape", "layer"} or r["shape"] != [len(r["activations"])] for r in results["get_activations"]):
        fail("the activations have other fields than the guide")
    near, far, later = results["similarity"]
    if len(results["list_cache"][0]["cache"]) != 3 or not later < near > far:
        fail(f"the answers are {results['list_cache']}, {near}, {far}, {later}")
    cited = set(re.findall('class="cite" href="#(call-[^"]+)"', Path(page).read_text(encoding="utf-8")))
    if len(cited) != 2:
        fail(f"the page links the calls {cited}")
if kind == "mcp":
    if run["calls"] < 7:
        fail("calls are missing")
    call = json.loads(Path(run["folder"], "record", "calls.jsonl").read_text(encoding="utf-8").splitlines()[0])
    if "[call:%s]" % call["id"] not in Path(requests).read_text(encoding="utf-8"):
        fail("the model has not seen the ID of a call")
    if "the word is kumquat" not in Path(requests).read_text(encoding="utf-8"):
        fail("the MCP server with an address has not answered")
if kind == "library" and agent != "codex":
    offered = own_tools()
    if len(offered) != 1:
        fail(f"the tools are not limited: {offered}")
events = [json.loads(line) for line in Path(run["folder"], "events.jsonl").read_text(encoding="utf-8").splitlines()]
text = json.dumps(events)
if "real-key" in text:
    fail("the log has the key")
if [e["seq"] for e in events] != list(range(1, len(events) + 1)):
    fail("the log has gaps")
kinds = {e["data"]["update"]["sessionUpdate"] for e in events if e["type"] == "agent.update"}
if kind in ("library", "activations", "mcp") and not {"agent_message_chunk", "tool_call", "tool_call_update"} <= kinds:
    fail(f"the updates are {kinds}")
made: Dict[str, Any] = json.loads(Path(summary).read_text(encoding="utf-8"))["provenance"]
if kind in ("library", "killed") and not (run["seer_sha256"] and made["plugins"] and made["services"] and made["packages"]):
    fail(f"the log does not say what the run was made of: {made}")
if kind == "slow":
    ended = [e["data"] for e in events if e["type"] == "agent.turn_ended"]
    if ended != [{"reason": "max_turn_requests", "error": "reached max_turns 2"}] or "waited 75 s" not in text:
        fail(f"it has ended with {ended}")
    broken = [e["data"]["server"] for e in events if e["type"] == "agent.server_failed"]
    if broken != ([] if agent == "codex" else ["docs"]):
        fail(f"these servers are said to fail: {broken}")
status = read_eval_log(log).status
if status != {"interrupted": "cancelled", "killed": "error", "crash": "error", "slow": "error"}.get(kind, "success"):
    fail(f"the status in Inspect is {status}")
html = Path(page).read_text(encoding="utf-8")
if "</html>" not in html or kind == "library" and "The report is in outputs/report.md." not in html:
    fail("the page is not whole")
print(f"{agent}, {kind}: {len(events)} events, {run['model_requests']} requests")
