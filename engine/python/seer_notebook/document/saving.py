"""Writes a notebook's file whole: who reads it sees the old one or the new one."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional, Tuple

import nbformat

Stat = Tuple[int, int, int]


def stat_of(s: os.stat_result) -> Stat:
    """What tells one state of a file from another."""
    return s.st_mtime_ns, s.st_size, s.st_ino


def state(full: str) -> Optional[Stat]:
    """None where there is no such file."""
    try:
        return stat_of(os.stat(full))
    except OSError:
        return None


def as_jupyter_writes(content: Any) -> str:
    """The text of a notebook's file, byte for byte as Jupyter would save it."""
    node = nbformat.from_dict(content)
    return str(nbformat.v4.writes_json(node)) + "\n"  # nbformat.writes looks whether it is valid, and writes it all the same


_HEAD, _CELLS, _TAIL = '{\n "cells": ', "[\n", "\n ],"


def cell_text(cell: Dict[str, Any]) -> str:
    """What the text of a notebook has of one cell."""
    alone = as_jupyter_writes(_notebook([cell], {}))
    begin, end = len(_HEAD + _CELLS), len(_TAIL) + len(as_jupyter_writes(_notebook([], {}))) - len(_HEAD + "[],")
    return alone[begin:len(alone) - end]


def joined(cells: List[str], metadata: Dict[str, Any]) -> str:
    """The text of a notebook, as_jupyter_writes, from those of its cells."""
    empty = as_jupyter_writes(_notebook([], metadata))
    if not cells:
        return empty
    return _HEAD + _CELLS + ",\n".join(cells) + _TAIL + empty[len(_HEAD + "[],"):]


def _notebook(cells: List[Dict[str, Any]], metadata: Dict[str, Any]) -> Dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def write(full: str, content: Any, before: Optional[Stat]) -> Optional[Stat]:
    """Replaces the file if its state is still before, None for one that is not there. Gives the state of what was written, whatever has
    become of it since; None if nothing was."""
    folder = os.path.dirname(full)
    os.makedirs(folder, exist_ok=True)
    text = as_jupyter_writes(content)
    fd, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as f:
            f.write(text)
            f.flush()
            os.fchmod(f.fileno(), mode_of(full))
            written = stat_of(os.fstat(f.fileno()))
        if state(full) != before:
            os.unlink(part)
            return None
        os.replace(part, full)
        return written
    except BaseException:
        os.unlink(part)
        raise


def mode_of(full: str) -> int:
    try:
        return os.stat(full).st_mode & 0o777
    except OSError:
        return 0o644
