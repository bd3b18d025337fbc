"""What is known about sessions, kept in a private file for the time after the server has died."""

from __future__ import annotations

import errno
import json
import os
from typing import Any, Dict, Iterable

from ..execution.execution import ENDED
from ..kernel.processes import end_group

FILE = "state.jsonl"
MOST = 256 << 10  # bytes of lines that say what was; then the file begins anew


class Keeper:
    """Writes a line whenever something has changed: another file each time would take most of the time of a short cell. The last counts."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)
        self._fd, self._size = -1, 0

    def save(self, sessions: Iterable[Any], executions: Iterable[Any]) -> None:
        state = {
            "sessions": [{"id": s.id, "title": s.title, "path": s.document.path if s.document is not None else s.path, "created": s.created,
                          "kernel_id": s.kernel.id, "pid": s.kernel.pid, "begin": s.kernel.begin} for s in sessions],
            "executions": [{"id": e.id, "session": e.session, "cell": e.cell, "queued": e.queued, "started": e.started}
                           for e in executions if e.state not in ENDED],
        }
        line = json.dumps(state).encode() + b"\n"
        try:
            if self._fd < 0 or self._size > MOST:
                self._begin()
            self._size += len(line)
            if os.write(self._fd, line) != len(line):
                self.close()
        except OSError:  # a full disk: what is lost is only what a restarted server would say
            self.close()

    def _begin(self) -> None:
        """With a new file that has the last line alone, so that there is never none."""
        last = (json.dumps(load(self._path)) + "\n").encode()
        self.close()
        part = self._path + ".part"
        self._fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.write(self._fd, last)
        if self._size != len(last):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.replace(part, self._path)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._size = -1, 0


def load(path: str) -> Dict[str, Any]:
    """What was known last; of a line that was cut, the one before."""
    try:
        with open(path, "rb") as f:
            lines = f.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {}


def end_kernel(lost: Dict[str, Any]) -> None:
    """A kernel that has outlived its server."""
    end_group(int(lost.get("pid") or 0), str(lost.get("begin") or ""))
