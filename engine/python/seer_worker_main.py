"""Starts the worker of a service: python3 -I -u seer_worker_main.py, with descriptors 3 to 7 as docs/protocol.md, section 6, says."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _HERE)

from seer_worker.main import main  # noqa: E402

sys.path.remove(_HERE)  # the user's code finds its own modules only

if __name__ == "__main__":
    sys.exit(main())
