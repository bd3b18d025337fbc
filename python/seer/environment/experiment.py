"""An experiment in the form that has its GPU, models and repositories at the top, and its
sandbox as a stage of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Optional, Union
from urllib.parse import urlsplit

from .._engine import arguments, blocking
from .._fields import PathLike, checked
from ..errors import ConfigError, Problem
from .config import ImageConfig, ModelConfig, RepoConfig, SandboxConfig, VolumeConfig
from .sandbox import Sandbox

#: Where use_model_volumes keeps models.
MODEL_VOLUME = VolumeConfig(name="seer-models", path="/model-volume", read_only=False, models=True)


@checked
@dataclass
class GPUConfig:
    """The GPU of an experiment."""

    gpu_type: Union[str, list[str], None] = None  #: None is a machine without a GPU
    gpu_count: Optional[int] = None
    use_model_volumes: Optional[bool] = None  #: keep models on a volume of the provider


@checked
@dataclass
class ExperimentConfig:
    """An experiment: its name, and the sandbox that it needs.

    ``sandbox`` has the other fields of SandboxConfig, such as ``{"timeout": 600}``.
    """

    name: str = ""
    gpu: Optional[GPUConfig] = None
    image: Union[ImageConfig, str, None] = None
    models: list[Union[ModelConfig, str]] = field(default_factory=list)
    github_repos: list[Union[RepoConfig, str]] = field(default_factory=list)
    sandbox: dict[str, Any] = field(default_factory=dict)
    base_dir: Optional[PathLike] = None  #: where relative paths begin; None is the working folder
    others: dict[str, Any] = field(default_factory=dict)  #: serve, workspace and agent of a file

    def sandbox_config(self) -> SandboxConfig:
        """All fields of the sandbox. Raises ConfigError where one has a wrong type or is set in two
        places."""
        hints = arguments.of_fields(type(self))
        wrong = [p for name, hint in hints.items() for p in arguments.problems(getattr(self, name), hint, name)]
        if wrong:
            raise ConfigError("", wrong)
        gpu = self.gpu or GPUConfig()
        here: dict[str, tuple[str, Any]] = {
            "gpu": ("gpu.gpu_type", gpu.gpu_type), "gpu_count": ("gpu.gpu_count", gpu.gpu_count),
            "image": ("image", self.image), "models": ("models", self.models), "repos": ("github_repos", self.github_repos),
        }
        twice = [
            Problem(f"sandbox.{key}", "has a place of its own", f"set {name} of the ExperimentConfig")
            for key, (name, _) in here.items() if key in self.sandbox
        ]
        if twice:
            raise ConfigError("", twice)
        config = SandboxConfig(**self.sandbox, **{key: value for key, (_, value) in here.items()})
        if gpu.use_model_volumes:
            config.volumes = [*config.volumes, MODEL_VOLUME]
        return config


class EnvironmentClient:
    """Ends the sandboxes of environments."""

    @blocking
    async def terminate_sandbox(self, sandbox_id: str) -> None:
        """Ends a sandbox and everything in it. It may be called again."""
        from .._engine import engine

        await engine().call("sandbox.terminate", {"sandbox": sandbox_id})


@dataclass
class EnvironmentHandle:
    """A sandbox that was set up, and how to use it."""

    sandbox_id: str
    jupyter_url: Optional[str]  #: with its token; all that an agent needs to use the notebook
    jupyter_port: Optional[int]  #: that of the URL
    jupyter_token: Optional[str]
    status: str
    sandbox: Sandbox
    experiment_config: ExperimentConfig
    _client: EnvironmentClient

    def _repr_html_(self) -> str:
        return self.sandbox._repr_html_()


@blocking
async def setup_environment(config: ExperimentConfig, *, max_wait: float = 0) -> EnvironmentHandle:
    """Makes the sandbox of an experiment: machine, packages, models, repositories and Jupyter.

    ``max_wait`` is the longest wait for a free machine or GPU, in seconds; 0 takes the ``max_wait``
    of the sandbox's fields. The models are on disk but not loaded, and no notebook is open. The
    sandbox ends with
    ``handle._client.terminate_sandbox(handle.sandbox_id)``, with ``handle.sandbox.terminate()``,
    and with this program.
    """
    made = config.sandbox_config()
    sandbox = Sandbox(made, max_wait=max_wait)
    values, sandbox._problems = made._experiment(False)
    sandbox._source = {
        "experiment": {
            **({"name": config.name} if config.name else {}), **values, "workspace": {"preload_models": False},
        },
        "dir": os.path.abspath(config.base_dir or os.getcwd()),
    }
    await sandbox._start()
    jupyter = sandbox._handle()
    port = urlsplit(sandbox.jupyter_url or "").port  # a sandbox with a network of its own has another one inside
    return EnvironmentHandle(
        sandbox_id=sandbox.sandbox_id, jupyter_url=sandbox.jupyter_url, jupyter_port=port or jupyter.get("jupyter_port"),
        jupyter_token=jupyter.get("jupyter_token") or None, status=str(sandbox._info["state"]), sandbox=sandbox,
        experiment_config=config, _client=EnvironmentClient(),
    )
