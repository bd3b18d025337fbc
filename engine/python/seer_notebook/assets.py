"""JupyterLab's own files are used where they were installed: it looks for them in its prefix only, which may be a layer higher."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, Optional

FOLDER = os.path.join("share", "jupyter", "lab")
NAMES = {"schemas_dir": "schemas", "static_dir": "static", "templates_dir": "static", "themes_dir": "themes"}


def find(config: Any) -> None:
    """Says where they are, in the configuration of a server, if they are not where JupyterLab looks.

    They are not linked: Tornado 6.5.9 and later serves no file that a link leads out to.
    """
    there = _beside()
    if there is None or os.path.exists(os.path.join(sys.prefix, FOLDER, "static", "index.html")):
        return
    for option, name in NAMES.items():
        if option not in config.LabApp:
            config.LabApp[option] = os.path.join(there, name)


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
