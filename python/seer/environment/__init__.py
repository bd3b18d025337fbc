"""Sandboxes and what they are made of."""

from .config import (
    DatasetConfig,
    ExecutionMode,
    ImageConfig,
    ModelConfig,
    RepoConfig,
    SandboxConfig,
    VolumeConfig,
)
from .sandbox import ExecResult, ModelHandle, Sandbox, Snapshot
from .scoped import Library, ScopedSandbox

__all__ = [
    "DatasetConfig",
    "ExecResult",
    "ExecutionMode",
    "ImageConfig",
    "Library",
    "ModelConfig",
    "ModelHandle",
    "RepoConfig",
    "Sandbox",
    "SandboxConfig",
    "ScopedSandbox",
    "Snapshot",
    "VolumeConfig",
]
