"""Reads the log of a scripted model: what its agent has told it."""

from __future__ import annotations

import json
import re
from typing import List, Tuple


def read(path: str, server: str) -> List[Tuple[str, str]]:
    """The answers to the calls of the model, by the names of the tools without that of their MCP server."""
    with open(path, encoding="utf-8") as f:
        longest = max((json.loads(line)["past"] or [] for line in f), key=len)
    return [(short(entry["tool"], server), entry["text"]) for entry in longest if entry.get("tool")]


def request_with(path: str, text: str) -> str:
    """The first request that has a text, or an empty one."""
    with open(path, encoding="utf-8") as f:
        requests = (json.dumps(json.loads(line)["request"], ensure_ascii=False) for line in f)
        return next((request for request in requests if text in request), "")


def short(tool: str, server: str) -> str:
    plain = re.sub(rf"^.*?{server}(__|_|\.|:|-)+", "", tool)
    return {"handle_read": "handle-read", "call_result": "call-result", "call_cancel": "call-cancel"}.get(plain, plain)
