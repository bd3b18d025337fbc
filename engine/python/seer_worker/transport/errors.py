"""CALL_ERROR: what went wrong in a call or while loading, as the user should see it."""

import linecache
import os
import sys
import sysconfig
import traceback
from typing import Any, Dict, List, Optional

from ..values import type_name

# The header that carries an error may have 1 MiB, and a character up to six bytes in it.
_LONGEST_MESSAGE, _LONGEST_TRACEBACK = 32_000, 96_000
_WORKER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # seer_worker, with all its packages
_PACKAGES = ("site-packages", "dist-packages")

CallErrorDict = Dict[str, Any]


class InterfaceError(Exception):
    """The interface file uses Seer in a way that cannot work."""

    __module__ = "seer"  # what a traceback shows
    line: Optional[int] = None  # where it does, if no frame of the traceback says so


class Script:
    """The user's file: where it really is, and how it is called towards the user."""

    def __init__(self, path: str, filename: str, source: str) -> None:
        self.path, self.filename, self.source = path, filename, source
        # Without a modification time the lines stay as they were loaded, even if the file is replaced.
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)

    def line_of(self, exc: BaseException) -> Optional[int]:
        """The line of the user's file that the exception passed last."""
        if isinstance(exc, SyntaxError) and exc.filename == self.path:
            return exc.lineno
        if isinstance(exc, InterfaceError) and exc.line:
            return exc.line
        line, tb = None, exc.__traceback__
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == self.path:
                line = tb.tb_lineno
            tb = tb.tb_next
        return line

    def traceback(self, exc: BaseException) -> str:
        """As Python prints it, without the frames of the worker, and with short paths."""
        try:
            report = traceback.TracebackException(type(exc), exc, exc.__traceback__)
            self._clean(report, set(), _bases())
            return _cut_middle("".join(report.format()), _LONGEST_TRACEBACK)
        except Exception as e:  # an exception class can break its own printing
            return "(the traceback cannot be shown: %s)\n" % type(e).__name__

    def message(self, exc: BaseException) -> str:
        try:
            text = str(exc)
        except Exception as e:
            return "(its message cannot be shown: %s)" % type(e).__name__
        return text.replace(self.path, self.filename)

    def _clean(self, report: Any, seen: "set[int]", bases: List[str]) -> None:
        if report is None or id(report) in seen:
            return
        seen.add(id(report))
        kept = []
        for frame in report.stack:
            if frame.filename.startswith(_WORKER):
                continue
            _ = frame.line  # read now: afterwards the file goes by its other name
            frame.filename = self._short(frame.filename, bases)
            kept.append(frame)
        report.stack[:] = kept
        if isinstance(getattr(report, "filename", None), str):  # of a SyntaxError
            report.filename = self._short(report.filename, bases)
        self._clean(report.__cause__, seen, bases)
        self._clean(report.__context__, seen, bases)
        for part in getattr(report, "exceptions", None) or ():
            self._clean(part, seen, bases)

    def _short(self, path: str, bases: List[str]) -> str:
        """The user's file by its name; others as they are imported: helper.py, torch/nn/modules/linear.py."""
        if path == self.path:
            return self.filename
        for folder in _PACKAGES:
            _, found, inner = path.rpartition(os.sep + folder + os.sep)
            if found:
                return inner
        return next((path[len(base):] for base in bases if path.startswith(base)), path)


def _bases() -> List[str]:
    """Where modules are found, the longest path first."""
    paths = sysconfig.get_paths()
    folders = {p for p in (*sys.path, os.getcwd(), paths["stdlib"], paths["platstdlib"]) if isinstance(p, str) and os.path.isabs(p)}
    return sorted((p.rstrip(os.sep) + os.sep for p in folders), key=len, reverse=True)


def call_error(code: str, message: str, kind: str = "", trace: str = "") -> CallErrorDict:
    error = {"code": code, "message": _cut_middle(message, _LONGEST_MESSAGE)}
    if kind:
        error["type"] = kind[:200]
    if trace:
        error["traceback"] = trace
    return error


def from_exception(code: str, exc: BaseException, script: Script) -> CallErrorDict:
    return call_error(code, script.message(exc), type_name(type(exc)), script.traceback(exc))


def _cut_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n… %d characters left out …\n%s" % (text[:half], len(text) - 2 * half, text[-half:])
