"""The configuration of the service, as its JSON file says it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping


class Mistake(Exception):
    """The configuration cannot be used; the text says which field and why."""


@dataclass(frozen=True)
class SetupCell:
    """Code that runs in every kernel before anything else. Of a hidden one no source is left in the kernel; it stays in the file of the
    configuration, if there is one."""

    name: str
    code: str
    hidden: bool = False


@dataclass(frozen=True)
class Settings:
    root: str
    notebooks_dir: str  # relative to root, with "/"
    ip: str
    port: int
    token: str
    base_url: str = "/"
    lab: bool = False
    setup: List[SetupCell] = field(default_factory=list)
    kernel_env: Dict[str, str] = field(default_factory=dict)


_PATH = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/")
_TYPES = {"root": str, "notebooks_dir": str, "ip": str, "port": int, "token": str, "base_url": str, "lab": bool,
          "setup": list, "kernel_env": dict}


def read(name: str) -> bytes:
    """The bytes of a configuration; - is the standard input, for one that must lie nowhere."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as e:
        raise Mistake("%s: %s" % (name, e.strerror)) from None


def parse(data: bytes) -> Settings:
    """Reads and checks everything: an unknown field is a mistake, too. Makes the folder of the notebooks."""
    try:
        raw = json.loads(data)
    except ValueError as e:
        raise Mistake("is not JSON: %s" % e) from None
    if not isinstance(raw, dict):
        raise Mistake("must be a JSON object")
    for key, value in raw.items():
        _check(key, value, _TYPES.get(key))
    given = {k: v for k, v in raw.items() if v is not None}
    token = given.get("token", "")
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise Mistake("token must have at least 16 printable characters without spaces: whoever reaches the port would otherwise run code")
    if not given.get("ip"):
        raise Mistake("ip is missing: 127.0.0.1 for this machine alone")
    port = given.get("port", 8888)
    if not 0 <= port <= 65535:
        raise Mistake("port must be between 0 (any) and 65535, not %d" % port)
    root = _root(given.get("root", ""))
    return Settings(root, _notebooks(root, given.get("notebooks_dir") or "notebooks"), given["ip"], port, token,
                    slashes(given.get("base_url", "/")), bool(given.get("lab")), setup_cells(given.get("setup", [])),
                    _texts("kernel_env", given.get("kernel_env", {})))


def slashes(path: str) -> str:
    """The path with one slash at each end. Jupyter takes it for a part of patterns."""
    inner = path.strip("/")
    if not set(inner) <= _PATH:
        raise Mistake("base_url must have letters, digits and - _ / alone, not %r" % path)
    return "/%s/" % inner if inner else "/"


def _check(key: str, value: Any, wanted: Any) -> None:
    if wanted is None:
        raise Mistake("the field %r is not known; known are %s" % (key, ", ".join(sorted(_TYPES))))
    if value is None and wanted in (list, dict):  # as Go writes an empty one
        return
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {str: "a text", int: "a number", bool: "true or false", list: "a list", dict: "an object"}
        raise Mistake("%s must be %s" % (key, names[wanted]))


def _root(root: str) -> str:
    if not os.path.isabs(root):
        raise Mistake("root must be an absolute path, not %r" % root)
    if not os.path.isdir(root):
        raise Mistake("root is not a folder: %s" % root)
    return os.path.realpath(root)


def _notebooks(root: str, folder: str) -> str:
    if os.path.isabs(folder):
        folder = os.path.relpath(os.path.realpath(folder), root)
    full = os.path.normpath(os.path.join(root, folder))
    if full != root and not full.startswith(root.rstrip("/") + "/"):
        raise Mistake("notebooks_dir must lie in root: %r" % folder)
    try:
        os.makedirs(full, exist_ok=True)
        if not os.access(full, os.W_OK | os.X_OK):
            raise PermissionError(13, "it is not writable")
    except OSError as e:
        raise Mistake("notebooks_dir %s: %s" % (full, e.strerror)) from None
    relative = os.path.relpath(full, root)
    return "" if relative == "." else relative.replace(os.sep, "/")


def setup_cells(cells: List[Any]) -> List[SetupCell]:
    """The cells as JSON has them, checked."""
    found = []
    for n, cell in enumerate(cells):
        if not isinstance(cell, dict) or not set(cell) <= {"name", "code", "hidden"}:
            raise Mistake('setup[%d] must be an object with "name", "code" and "hidden"' % n)
        name, code, hidden = cell.get("name", ""), cell.get("code"), cell.get("hidden", False)
        if not isinstance(name, str) or not isinstance(code, str) or not isinstance(hidden, bool):
            raise Mistake("setup[%d]: name and code must be texts, hidden true or false" % n)
        found.append(SetupCell(name or "setup %d" % (n + 1), code, hidden))
    return found


def _texts(key: str, value: Mapping[str, Any]) -> Dict[str, str]:
    for name, text in value.items():
        if not isinstance(text, str) or not name or "\0" in name + text:
            raise Mistake("%s[%r] must be a text" % (key, name))
    return dict(value)
