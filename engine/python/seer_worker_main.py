"""Starts the worker of a service, with descriptors 3 to 7 as docs/protocol.md, section 6, says.

The runtime starts it from a file without a name. Where it lies in a folder, python3 -I -u seer_worker_main.py does.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else None
if _HERE is not None:
    sys.path.insert(0, _HERE)

from seer_worker.main import main  # noqa: E402

if _HERE is not None:
    sys.path.remove(_HERE)  # the user's code finds its own modules only

if __name__ == "__main__":
    sys.exit(main())
