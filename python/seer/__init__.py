"""Research environments for AI agents.

    from seer.environment import Sandbox, SandboxConfig, ModelConfig

    with Sandbox(SandboxConfig(gpu="A100", models=[ModelConfig("google/gemma-2-9b")])) as sandbox:
        print(sandbox.exec("nvidia-smi").stdout)

One process of the engine, ``seer engine --stdio``, does the work. It starts when your program first
needs it. When your program ends, in whatever way, the engine ends all sandboxes that your program
has started and not detached.
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
