"""An MCP server that drives the notebook behind a URL.

    SCRIBE_URL="https://…?token=…" python -m seer.notebook_mcp

It is ``seer mcp --notebook``, and passes its own options on. ``SCRIBE_URL`` or
``SEER_JUPYTER_URL`` has the ``jupyter_url`` of a sandbox, with its token.
"""

from __future__ import annotations

import os
import sys

from ._engine.process import program
from .errors import Error

VARIABLES = ("SCRIBE_URL", "SEER_JUPYTER_URL")


def main() -> None:
    """Becomes the server."""
    name = next((v for v in VARIABLES if os.environ.get(v)), None)
    if name is None:
        sys.exit(f"seer.notebook_mcp: {VARIABLES[0]} is not set: set it to the jupyter_url of a sandbox, with its token")
    try:
        path = program()
    except Error as e:
        sys.exit(f"seer.notebook_mcp: {e}")
    os.execv(path, [path, "mcp", "--notebook", "env:" + name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
