"""What an agent's model must have been told. usage: check.py AGENT LOG"""

from __future__ import annotations

import sys
from typing import Dict

import told

agent, path = sys.argv[1:]
log = told.read(path, "tools")
said: Dict[str, str] = {"skill": told.request_with(path, "see-red")}
tool = ""
for name, text in log:  # the answer of a call may have come by call-result
    tool = tool if name == "call-result" else name
    said["train" if tool == "finish" and name == "call-result" else tool] = text


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
