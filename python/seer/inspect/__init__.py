"""Seer as a sandbox of Inspect AI: ``sandbox="seer"`` or ``sandbox=("seer", "seer.yaml")``.

The file is an experiment; Inspect uses only its field ``sandbox``. Seer does not ask you to confirm
the effects of the file, because the code of the task runs unconfined on this computer anyway.
Without a file, each sample gets a sandbox of this computer without a GPU.
"""

from .sandbox import SeerSandbox, SeerSandboxConfig
from .tools import tools

__all__ = ["SeerSandbox", "SeerSandboxConfig", "tools"]
