"""The command seer of an installed wheel."""

import os
import sys

from ._engine.process import program
from .errors import Error


def main() -> None:
    """Becomes the program."""
    try:
        path = program()
    except Error as e:
        sys.exit(f"seer: {e}")
    os.execv(path, [path, *sys.argv[1:]])
