"""Runs checks, none of which ends the others, and keeps what came of each."""

import time
import traceback
from typing import Any, Callable, List, Optional, Tuple


class NotPossible(Exception):
    """A check cannot be made here; its text says why."""


class Checks:
    """The rows of the table."""

    def __init__(self, seconds: float) -> None:
        """After so many seconds no further check begins."""
        self.deadline: Optional[float] = time.monotonic() + seconds
        self.failed = False
        self._rows: List[Tuple[str, str, float, str]] = []

    def run(self, name: str, check: Callable[..., Any], *args: Any) -> Any:
        """Makes a check, whose result is a note or a pair of a value and a note. Returns the value, None if it has none or failed."""
        print("\n== %s" % name, flush=True)
        begun, value, note = time.monotonic(), None, ""
        try:
            if self.deadline is not None and begun > self.deadline:
                raise NotPossible("the time is over")
            result, told = "ok", check(*args)
            value, note = told if isinstance(told, tuple) else (None, told)
        except NotPossible as e:
            result, note = "not possible", str(e)
        except Exception as e:
            traceback.print_exc()
            result, note, self.failed = "FAILED", "%s" % (str(e) or type(e).__name__), True
        self._rows.append((name, result, time.monotonic() - begun, note))
        print("%s: %s" % (result, note) if note else result, flush=True)
        return value

    def table(self) -> str:
        """All of it in Markdown."""
        rows = ["| check | result | time | |", "|---|---|---|---|"]
        for name, result, seconds, note in self._rows:
            text = " ".join(note.split()).replace("|", "\\|")
            rows.append("| %s | %s | %.1f s | %s |" % (name, result, seconds, text if len(text) < 400 else text[:400] + "…"))
        return "\n".join(rows)
