"""Loads interfaces in the process of the test itself."""

import atexit
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from seer_worker.interface import inject, load  # noqa: E402
from seer_worker.interface.describe import describe  # noqa: E402

FOLDER = Path(tempfile.mkdtemp(prefix="seer-loading-"))
atexit.register(shutil.rmtree, str(FOLDER), True)


def interface_of(code, models=(), name="seer_loaded"):
    """The loaded interface. Its module is forgotten, so that the next may have the same name."""
    path = FOLDER / (name + ".py")
    path.write_text(textwrap.dedent(code))
    try:
        return load.load(str(path), "interface.py", inject.Models(models), inject.Datasets())
    finally:
        sys.modules.pop("interface", None)


def function_of(code):
    """The description of the one function that code exposes."""
    return describe(interface_of(code))["functions"][0]
