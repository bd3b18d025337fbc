"""The notebook service of a sandbox: sessions, their kernels, cells and outputs. docs/notebook.md is its contract.

python -m seer_notebook --config FILE starts a supervisor, which starts a Jupyter server with this package as its extension.
"""

from __future__ import annotations

from typing import Any, Dict, List

__version__ = "1.0.0"
API = 1  # of docs/notebook.md


def _jupyter_server_extension_points() -> List[Dict[str, Any]]:
    return [{"module": "seer_notebook"}]


def _load_jupyter_server_extension(app: Any) -> None:
    from .server.extension import load

    load(app)
