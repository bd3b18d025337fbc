"""python -m seer_notebook --config FILE."""

import sys

from .server.supervisor import main

sys.exit(main(sys.argv[1:]))
