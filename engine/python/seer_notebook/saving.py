"""Writes a notebook's file whole: who reads it sees the old one or the new one."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Tuple

import nbformat

Stat = Tuple[int, int, int]


def stat_of(s: os.stat_result) -> Stat:
    """What tells one state of a file from another."""
    return s.st_mtime_ns, s.st_size, s.st_ino


def as_jupyter_writes(content: Any) -> str:
    """The text of a notebook's file, byte for byte as Jupyter would save it."""
    node = nbformat.from_dict(content)
    return nbformat.writes(node, version=nbformat.NO_CONVERT) + "\n"


def write(full: str, content: Any) -> Stat:
    """Replaces the file. Gives the state of what was written, whatever has become of it since."""
    folder = os.path.dirname(full)
    os.makedirs(folder, exist_ok=True)
    text = as_jupyter_writes(content)
    fd, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fchmod(f.fileno(), mode_of(full))
            written = stat_of(os.fstat(f.fileno()))
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
