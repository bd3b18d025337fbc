"""What is known about sessions, kept in a private file for the time after the server has died."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable

from .execution import ENDED
from .processes import end_group


def save(path: str, sessions: Iterable[Any], executions: Iterable[Any]) -> None:
    state = {
        "sessions": [{"id": s.id, "title": s.title, "path": s.document.path if s.document is not None else s.path, "kernel_id": s.kernel.id,
                      "created": s.created, "pid": s.kernel.pid, "begin": s.kernel.begin} for s in sessions],
        "executions": [{"id": e.id, "session": e.session, "cell": e.cell, "queued": e.queued, "started": e.started}
                       for e in executions if e.state not in ENDED],
    }
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8") as f:
            json.dump(state, f)
        os.replace(part, path)
    except OSError:  # a full disk: what is lost is only what a restarted server would say
        pass


def load(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as f:
            found: Dict[str, Any] = json.load(f)
            return found
    except (OSError, ValueError):
        return {}


def end_kernel(lost: Dict[str, Any]) -> None:
    """A kernel that has outlived its server."""
    end_group(int(lost.get("pid") or 0), str(lost.get("begin") or ""))
