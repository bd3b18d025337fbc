"""Runs set-up cells in a kernel so that they leave their variables and nothing else."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Sequence

from ..kernel.kernel import Kernel
from ..kernel.requests import Died
from ..settings import SetupCell

# Takes the sources of what has just run out of where IPython and tracebacks look for them.
FORGET = """
def _forget(before):
    import linecache
    shell = get_ipython()
    names = getattr(shell.compile, "_filename_map", {})
    for name in [n for n in linecache.cache if n not in before]:
        entry = linecache.cache[name]
        if len(entry) == 4 and entry[1] is None:
            del linecache.cache[name]
            names.pop(name, None)
    shell.last_execution_result = None
    import sys
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
"""
_BEFORE = 'str(sorted(__import__("linecache").cache))'
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Failed(Exception):
    """A set-up cell has failed; the text has its traceback."""


async def run(kernel: Kernel, cells: Sequence[SetupCell], told: Callable[[List[Dict[str, Any]]], None]) -> None:
    """Runs the cells one after the other and tells their results after each; stops at the first that fails. Whoever calls ends a kernel
    whose set-up has failed, so such a kernel forgets nothing: its end, too, would hide why."""
    results: List[Dict[str, Any]] = []
    for cell in cells:
        before = await expression(kernel, _BEFORE) if cell.hidden else ""
        error = await _error_of(kernel, cell.code)
        results.append({"name": cell.name, "ok": not error, "error": error})
        if cell.hidden and not error:
            await expression(kernel, "(lambda d: (exec(%r, d), d['_forget'](%s)))({'get_ipython': get_ipython})" % (FORGET, before or "''"))
        told(results)
        if error:
            raise Failed("the set-up %r has failed:\n%s" % (cell.name, error))


async def _error_of(kernel: Kernel, code: str) -> str:
    """The traceback of code; empty where it raises nothing. A kernel that dies after it has said why gives that, not its death."""
    said: List[Dict[str, Any]] = []
    try:
        reply = await kernel.run(code, lambda kind, content: said.append(content) if kind == "error" else None, silent=True)
    except Died:
        if not said:
            raise
        return traceback_text(said[-1])
    return "" if reply.get("status") == "ok" else traceback_text(reply)


async def expression(kernel: Kernel, code: str) -> str:
    """The repr of an expression in the kernel, which nobody sees; empty where it raises."""
    reply = await kernel.run("", _deaf, silent=True, expressions={"value": code})
    value = (reply.get("user_expressions") or {}).get("value") or {}
    return str(value.get("data", {}).get("text/plain", "")) if value.get("status") == "ok" else ""


def traceback_text(reply: Dict[str, Any]) -> str:
    lines = [str(x) for x in reply.get("traceback") or []]
    return ANSI.sub("", "\n".join(lines) or "%s: %s" % (reply.get("ename", "error"), reply.get("evalue", "")))


def _deaf(kind: str, content: Dict[str, Any]) -> None:
    """Nobody listens."""
