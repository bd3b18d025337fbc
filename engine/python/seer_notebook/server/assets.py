"""JupyterLab's files and extensions are used where they were installed: it looks in its prefix only, and they may be in a layer below."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any, List, Optional

from jupyter_core.paths import jupyter_path

SHARE = os.path.join("share", "jupyter")
LAB = os.path.join(SHARE, "lab")


def find(config: Any) -> None:
    """Says where they are, in the configuration of a server, if they are not where JupyterLab looks.

    They are not linked: Tornado 6.5.9 and later serves no file that a link leads out to. What
    was installed into the environment itself comes before what is in layers.
    """
    lab = config.LabApp
    own, there = os.path.join(sys.prefix, LAB), _beside()
    index = os.path.join(own, "static", "index.html")
    if there is not None and (os.path.islink(index) or not os.path.exists(index)) and "app_dir" not in lab:
        lab.app_dir = there
        if "app_settings_dir" not in lab:
            lab.app_settings_dir = os.path.join(own, "settings")
    if "labextensions_path" not in lab:
        usual = jupyter_path("labextensions")
        more = [folder for folder in _layers() if folder not in usual]
        if more:
            lab.labextensions_path = usual + more


def _beside() -> Optional[str]:
    """The folder that was installed along with the package; None where there is none."""
    spec = importlib.util.find_spec("jupyterlab")
    if spec is None or spec.origin is None:
        return None
    folder = os.path.join(_prefix(os.path.dirname(os.path.dirname(spec.origin))), LAB)
    return folder if os.path.isdir(folder) else None


def _layers() -> List[str]:
    """The extensions of whatever packages are imported from, in that order."""
    folders = []
    for path in sys.path:
        folder = os.path.join(_prefix(path), SHARE, "labextensions")
        if os.path.basename(path) == "site-packages" and os.path.isdir(folder) and folder not in folders:
            folders.append(folder)
    return folders


def _prefix(site: str) -> str:
    """That of an environment, by its site-packages."""
    return os.path.dirname(os.path.dirname(os.path.dirname(site)))
