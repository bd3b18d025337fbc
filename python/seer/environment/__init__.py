"""Sandboxes and what they are made of."""

from .. import _lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .config import (
        DatasetConfig,
        ExecutionMode,
        ImageConfig,
        ModelConfig,
        RepoConfig,
        SandboxConfig,
        VolumeConfig,
    )
    from .experiment import EnvironmentHandle, ExperimentConfig, GPUConfig, setup_environment
    from .results import CommandError, ExecResult, ModelHandle, Snapshot
    from .sandbox import Sandbox
    from .scoped import ScopedSandbox
    from .served import ServedLibrary

__all__ = [
    "CommandError",
    "DatasetConfig",
    "EnvironmentHandle",
    "ExecResult",
    "ExecutionMode",
    "ExperimentConfig",
    "GPUConfig",
    "ImageConfig",
    "ModelConfig",
    "ModelHandle",
    "RepoConfig",
    "Sandbox",
    "SandboxConfig",
    "ScopedSandbox",
    "ServedLibrary",
    "Snapshot",
    "VolumeConfig",
    "setup_environment",
]

# That of Sandbox is the first, as it imports the least.
__getattr__, __dir__ = _lazy.names(__name__, __all__, ("sandbox", "results", "config", "scoped", "served", "experiment"))
