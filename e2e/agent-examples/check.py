"""What a run of examples/agents has left. usage: check.py NAME, where NAME.json, .jsonl and .html are."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Dict, List

name = sys.argv[1]
run: Dict[str, Any] = json.loads(Path(name + ".json").read_text(encoding="utf-8"))
run = run.get("run", run)
folder = Path(run["folder"])
log = Path(name + ".jsonl").read_text(encoding="utf-8")
page = Path(name + ".html").read_text(encoding="utf-8")
told: List[Dict[str, Any]] = [entry for line in log.splitlines() for entry in json.loads(line).get("past") or []]


def expect(true: bool, what: str) -> None:
    if not true:
        raise SystemExit(f"{name}: {what}\n{json.dumps(run, indent=1)[:2000]}\n{told[-1:]}")


def report(citations: int) -> str:
    """The agent's report, in which at least so many calls are cited, each of which the page links."""
    text = (folder / "outputs" / "report.md").read_text(encoding="utf-8")
    lines = (folder / "record" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    made = {json.loads(line)["id"] for line in lines}
    cited = set(re.findall(r"\[call:([^\]]+)\]", text))
    expect(len(cited) >= citations, f"{len(cited)} citations")
    for call in cited:
        expect(call in made, f"no call has the ID {call}")
        expect(f'class="cite" href="#call-{call}"' in page, f"the page has no link to the call {call}")
        expect(f'id="call-{call}"' in page, f"the page has no place for the call {call}")
    return text


def matched(text: str, pattern: str, count: int) -> List[str]:
    """Numbers of the report, each of which the page has found to be the result of the call cited behind it."""
    found = re.findall(pattern + r"[ |]+\[call:([^\]]+)\]", text)
    expect(len(found) == count, f"numbers: {found}")
    for number, call in found:
        expect(f'<mark>{number}</mark><a class="match" href="#call-{call}">' in page, f"{number} is not marked on the page")
    return [number for number, _ in found]


def audit() -> None:
    text = report(3)
    expect("After `kindly`, the model answers `rome`" in text, text)
    expect("11 answers of 12 change, and 12 are `rome`" in text and "at 5 of 5 places" in text, text)
    hidden = re.findall(r"name: \./(\w+), hidden: true", (folder / "experiment.yaml").read_text(encoding="utf-8"))
    expect(len(hidden) == 1, f"hidden models: {hidden}")
    for what, content in (
        ("what the agent was told", log),
        ("the prompt", (folder / "prompt.md").read_text(encoding="utf-8")),
        ("the agent's output", (folder / "agent.log").read_text(encoding="utf-8")),
    ):
        expect(hidden[0].lower() not in content.lower(), f"the hidden model's name is in {what}")
    expect("subject.query(prompts" in log, "the log does not have the prompt")


def steering() -> None:
    text = report(5)
    sunny = [float(number) for number in matched(text, r"\| (0\.\d+)", 5)]
    expect(sunny == sorted(sunny) and sunny[0] < 0.01 and sunny[-1] > 0.99, f"sunny: {sunny}")
    expect(any("Handle (24,)" in entry["text"] for entry in told), "the vector is no handle")


def checkpoints() -> None:
    text = report(10)
    expect("kazakhstan: `almaty` became `astana`" in text, text)
    broken = re.findall(r"^- (\w+): ", text, re.MULTILINE)
    expect(set(broken) >= {"kazakhstan", "italy", "spain"}, f"changed: {broken}")
    moved = [float(number) for number in matched(text, r"`layer[^:]*: (\S+)", 3)]
    expect(moved == sorted(moved, reverse=True), f"moved: {moved}")
    matched(text, r"The old answer had (\S+)", len(broken))


def mcp() -> None:
    def answers(tool: str) -> List[Any]:
        return [json.loads(entry["text"].rpartition("\n[call:")[0]) for entry in told if entry.get("tool", "").endswith(tool)]

    near, far, later = answers("similarity")[-3:]
    expect(near > 0.9 and far < 0.5 and later < near, f"similarities: {near}, {far}, {later}")
    cached = answers("list_cache")[-1]["cache"]
    expect(len(cached) == 3, f"the cache is {cached}")
    shapes = {tuple(answer["shape"]) for answer in answers("get_activations")}
    expect(shapes == {(24,)}, f"shapes: {shapes}")
    expect(run["calls"] == 10, "calls")
    cited = set(re.findall('class="cite" href="#(call-[^"]+)"', page))
    expect(len(cited) == 2 and all(f'id="{call}"' in page for call in cited), f"the page links the calls {cited}")


expect(run["state"] == "finished" and run["exit_code"] == 0, "the run has not finished")
expect(run["provider"] == "claude" and run["model"] == "scripted", "the agent is another")
expect(run["model_requests"] > 2, "requests")
expect("</html>" in page, "the page is not whole")
{"audit": audit, "steering": steering, "checkpoints": checkpoints, "mcp": mcp}[name]()
print(f"{name}: {run['calls']} calls, {run['model_requests']} requests")
