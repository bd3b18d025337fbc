"""What an agent's model must have been told. usage: check.py AGENT LOG"""

from __future__ import annotations

import json
import sys
from typing import Dict, List

agent, path = sys.argv[1:]
said: Dict[str, List[str]] = {}
with open(path, encoding="utf-8") as f:
    for line in f:
        entry = json.loads(line)
        said.setdefault(entry["tool"], []).append(entry["result"])


def expect(tool: str, *parts: str) -> None:
    text = said.get(tool, ["(was not called)"])[-1].replace('\\"', '"')
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
expect("train", "call-result", "loss", "running" if agent in ("claude", "codex") else "has not ended")
expect("call-result", "trained")
expect("fail", "ValueError", "no layer 9", "tools.py")
print(f"{agent}: {sum(map(len, said.values()))} answers")
