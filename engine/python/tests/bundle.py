"""The client as one file, as generated libraries have it. The order of its modules is that of client.go."""

import atexit
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import List

PYTHON = Path(__file__).resolve().parents[1]
_RELATIVE = re.compile(r"^from (?:\.\w*|seer_worker\.\w+) import (?:\([^)]*\)|.*)\n", re.MULTILINE)


def modules() -> List[Path]:
    """The files that are joined."""
    listed = re.search(r"clientModules = \[\]string\{([^}]*)\}", (PYTHON / "client.go").read_text())
    assert listed is not None
    return [PYTHON / name for name in re.findall(r'"([^"]+)"', listed.group(1))]


def text() -> str:
    """The one file."""
    return "".join(_RELATIVE.sub("", module.read_text(encoding="utf-8")) for module in modules())


FOLDER = Path(tempfile.mkdtemp(prefix="seer-client-test-"))
atexit.register(shutil.rmtree, FOLDER, True)
(FOLDER / "client.py").write_text(text(), encoding="utf-8")
sys.path.insert(0, str(FOLDER))
