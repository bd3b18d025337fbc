"""Names of notebooks, and which paths are theirs."""

from __future__ import annotations

import os
import re
import time
import unicodedata

from ..errors import Refused

_STAMP = re.compile(r"^\d{4}-\d{2}-\d{2}-\d{2}-\d{2}_")


def file_name(name: str, limit: int = 100) -> str:
    """A name that every file system takes, in any script."""
    name = unicodedata.normalize("NFC", name)
    name = "".join("-" if c in '/\\:*?"<>|' or unicodedata.category(c).startswith("C") else c for c in name)
    name = re.sub(r"\s+", " ", name).strip(" .")
    while len(name.encode()) > limit:
        name = name[:-1]
    return name.strip(" .") or "notebook"


def fresh(root: str, folder: str, name: str, suffix: str = "") -> str:
    """The path, relative to root, of a notebook that does not exist; an empty file is there then, so that nobody else takes it."""
    stem = "%s_%s%s" % (time.strftime("%Y-%m-%d-%H-%M"), file_name(name), suffix)
    os.makedirs(os.path.join(root, folder), exist_ok=True)
    n = 0
    while True:
        relative = "/".join(p for p in (folder, stem + ("_%d" % n if n else "") + ".ipynb") if p)
        try:
            os.close(os.open(os.path.join(root, relative), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            return relative
        except FileExistsError:
            n += 1


def bare(path: str) -> str:
    """What a notebook is called without its time and what an earlier continuation has added."""
    stem = os.path.basename(path)
    stem = stem[:-len(".ipynb")] if stem.endswith(".ipynb") else stem
    return re.sub(r"(_continued(_\d+)?)+$", "", _STAMP.sub("", stem)) or "notebook"


def existing(root: str, path: str) -> str:
    """A notebook's path relative to root. It must lie there, links included."""
    if not path or "\0" in path:
        raise Refused("invalid", "path is missing: name a notebook, relative to %s" % root)
    full = path if os.path.isabs(path) else os.path.join(root, path)
    real = os.path.realpath(full)
    if os.path.commonpath([root, real]) != root or ".." in path.split("/"):
        raise Refused("invalid", "path %s: a notebook must lie in %s" % (path, root))
    if not os.path.isfile(real):
        raise Refused("not_found", "path %s: there is no such file in %s" % (path, root))
    if not real.endswith(".ipynb"):
        raise Refused("invalid", "path %s: a notebook's name ends with .ipynb" % path)
    relative = os.path.relpath(real, root).replace(os.sep, "/")
    if any(part.startswith(".") for part in relative.split("/")):
        raise Refused("invalid", "path %s: Jupyter opens no hidden files" % path)
    return relative
