"""JupyterLab's own files, put where it looks for them when the first browser comes: a layer that all experiments share is without them."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Optional

FOLDER = os.path.join("share", "jupyter", "lab")
NAMES = ("schemas", "static", "themes")


def link() -> None:
    """Links what the environment lacks of the files beside the package; does nothing where they are. Raises OSError."""
    here, there = os.path.join(sys.prefix, FOLDER), _beside()
    if there is None or os.path.exists(os.path.join(here, "static", "index.html")):
        return
    for name in NAMES:
        _link(os.path.join(there, name), os.path.join(here, name))


def _beside() -> Optional[str]:
    """The folder that was installed along with the package; None where there is none."""
    spec = importlib.util.find_spec("jupyterlab")
    if spec is None or spec.origin is None:
        return None
    prefix = spec.origin
    for _ in ("__init__.py", "jupyterlab", "site-packages", "python3", "lib"):
        prefix = os.path.dirname(prefix)
    folder = os.path.join(prefix, FOLDER)
    return folder if os.path.isdir(folder) else None


def _link(source: str, target: str) -> None:
    """Each file by itself: pip puts another one in its place, which it could not in a folder that is read-only."""
    for folder, _, names in os.walk(source):
        inside = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(inside, exist_ok=True)
        for name in names:
            path = os.path.join(inside, name)
            if not os.path.lexists(path):
                os.symlink(os.path.join(folder, name), path)
