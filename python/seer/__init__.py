"""Research environments for AI agents.

    from seer.environment import Sandbox, SandboxConfig, ModelConfig

    with Sandbox(SandboxConfig(gpu="A100", models=[ModelConfig("google/gemma-2-9b")])) as sandbox:
        print(sandbox.exec("nvidia-smi").stdout)

One process of the engine, ``seer engine --stdio``, does the work. It starts with the first
sandbox, and ends everything that was started when this program ends, however that happens.
"""

from ._version import __version__
from .errors import (
    CancelledError,
    ConfigError,
    ConflictError,
    EngineError,
    Error,
    NoSpaceError,
    NotFoundError,
    PluginError,
    Problem,
    ProviderError,
    ServiceError,
    TimeoutError,
    UnauthorizedError,
    UnsupportedError,
    UntrustedError,
)

__all__ = [
    "CancelledError",
    "ConfigError",
    "ConflictError",
    "EngineError",
    "Error",
    "NoSpaceError",
    "NotFoundError",
    "PluginError",
    "Problem",
    "ProviderError",
    "ServiceError",
    "TimeoutError",
    "UnauthorizedError",
    "UnsupportedError",
    "UntrustedError",
    "__version__",
]
