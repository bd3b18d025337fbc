"""What an agent's model must have been told. usage: check.py AGENT LOG"""

from __future__ import annotations

import json
import sys
from typing import List, Tuple

from model import answers

agent, path = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    log: List[Tuple[str, str]] = [(entry["tool"], entry["result"]) for entry in map(json.loads, f)]
said = answers([entry for entry in log if entry[0] != "skill"])
said["skill"] = dict(log).get("skill", "(was not told)")


def expect(tool: str, *parts: str) -> None:
    text = said.get(tool, "(was not called)").replace('\\"', '"')
    for part in parts:
        if part not in text:
            raise SystemExit(f"{agent}: {tool} answered {text!r}, without {part!r}")


expect("skill", "see-red", "What agents may do in this test. Use when a task needs these functions")
if agent == "claude":
    expect("Bash", "42")
expect("add", "5")
expect("embed", "h-", "2000", "64", "float32", "handle-read")
expect("handle-read", "127999")
expect("total", "8191936000")
expect("plot", "image")
waited = [text for tool, text in log if tool in ("train", "call-result") and "loss" in text]
said["train, meanwhile,"] = waited[0] if waited else "(was not handed over)"
expect("train, meanwhile,", "call-result", "running" if agent in ("claude", "codex") else "has not ended")
expect("train", "trained")
expect("fail", "ValueError", "no layer 9", "tools.py")
print(f"{agent}: {len(log)} answers")
