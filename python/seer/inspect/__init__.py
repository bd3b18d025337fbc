"""Seer as a sandbox of Inspect AI: ``sandbox="seer"`` or ``sandbox=("seer", "seer.yaml")``.

The file is an experiment, of which only ``sandbox`` counts; its effects are those of the task,
whose code runs on this computer anyway. Without one, a sample gets a small sandbox of this
computer.
"""

from .sandbox import SeerSandbox, SeerSandboxConfig
from .tools import tools

__all__ = ["SeerSandbox", "SeerSandboxConfig", "tools"]
