"""Shows how far long work is: a bar in a notebook, a line in a terminal, and else only warnings."""

from __future__ import annotations

import html
import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from . import wire

OFTEN = 0.1  # seconds between two changes that only count
WIDTH = 20  # characters of the bar in a terminal


class Shown:
    """What is shown of one request. All methods run on the thread of loop."""

    def __init__(self, show: Callable[[Shown], None]):
        self._show, self._last = show, 0.0
        self.began = time.monotonic()
        self.text = ""
        self.share: Optional[float] = None  #: of the copying of the last step, 0 to 1
        self.warnings: list[str] = []
        self.ended: Optional[bool] = None  #: whether the work succeeded

    def event(self, progress: wire.Progress) -> None:
        """Shows what has happened."""
        kind, data = progress["kind"], progress["event"].get("data") or {}
        if kind == "copied":
            self.share = data["bytes"] / data["total"] if data.get("total") else None
        elif kind == "warning":
            self.warnings.append(_plain(progress["text"]))
        else:
            self.text = _plain(progress["text"]) or self.text
            if kind != "output":
                self.share = None
        if kind in ("copied", "output"):
            if time.monotonic() < self._last + OFTEN:
                return
            self._last = time.monotonic()
        self._show(self)

    def end(self, succeeded: bool) -> None:
        """Shows that the work has ended. What showed nothing before shows nothing now."""
        self.ended, self.share = succeeded, None
        if self.text or self.warnings:
            self._show(self)


def new() -> Optional[Shown]:
    """What shows a request here; None where nothing can be shown."""
    shows = kernel()
    if shows is not None:
        return Shown(_Notebook(shows).show)
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Shown(_Terminal().show)
    return None if sys.stderr is None else Shown(_Log().show)


def kernel() -> Any:
    """The module IPython.display, if this program is a kernel of Jupyter."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    import IPython.display  # type: ignore[import-not-found, unused-ignore]

    return IPython.display


class _Notebook:
    def __init__(self, module: Any):
        self._module, self._handle = module, None

    def show(self, shown: Shown) -> None:
        mimes = {"text/plain": _line(shown), "text/html": _html(shown)}
        if self._handle is None:
            self._handle = self._module.display(mimes, raw=True, display_id=True)
        else:
            self._handle.update(mimes, raw=True)


class _Log:
    """A file or a pipe: nobody watches it, but what is weaker than was asked for must be in it."""

    def __init__(self) -> None:
        self._warned = 0

    def show(self, shown: Shown) -> None:
        if said := self._new(shown):
            with suppress(OSError, ValueError):  # a closed file is no reason to lose the work
                sys.stderr.write(said)
                sys.stderr.flush()

    def _new(self, shown: Shown) -> str:
        said = "".join(f"seer: {w}\n" for w in shown.warnings[self._warned:])
        self._warned = len(shown.warnings)
        return said


class _Terminal(_Log):
    def show(self, shown: Shown) -> None:
        said = self._new(shown)
        line = "" if shown.ended is not None else _line(shown)[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r\033[K" + said + line)
        sys.stderr.flush()


def _line(shown: Shown) -> str:
    if shown.ended is not None:
        return _ending(shown)
    if shown.share is None:
        return shown.text
    full = round(WIDTH * shown.share)
    return f"[{'#' * full}{' ' * (WIDTH - full)}] {shown.share:4.0%} {shown.text}"


def _html(shown: Shown) -> str:
    rows = [html.escape(w) for w in shown.warnings]
    if shown.ended is None:
        value = "" if shown.share is None else f' value="{shown.share:.3f}"'
        rows.append(f"<progress{value}></progress> {html.escape(shown.text)}")
    else:
        rows.append(html.escape(_ending(shown)))
    return "<br>".join(rows)


def _ending(shown: Shown) -> str:
    took = f"{time.monotonic() - shown.began:.1f} s"
    return f"{shown.text} ({took})" if shown.ended else f"failed after {took}: {shown.text}"


def _plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)
