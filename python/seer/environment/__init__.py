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
from .experiment import EnvironmentHandle, ExperimentConfig, GPUConfig, setup_environment
from .sandbox import ExecResult, ModelHandle, Sandbox, Snapshot
from .scoped import Library, ScopedSandbox

__all__ = [
    "DatasetConfig",
    "EnvironmentHandle",
    "ExecResult",
    "ExecutionMode",
    "ExperimentConfig",
    "GPUConfig",
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
    "setup_environment",
]
