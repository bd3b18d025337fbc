"""The configuration of a sandbox. Its fields are those of an experiment file.

The engine checks the values, and reports all mistakes at once in a ``ConfigError``. A field that
is None is left to the engine's default, which ``docs/experiment.md`` tells.
"""

from __future__ import annotations

import enum
import math
import os
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Optional, Union

from .._engine import arguments
from .._fields import PathLike, checked
from ..errors import ConfigError, Problem


class ExecutionMode(str, enum.Enum):
    """How the agent uses the sandbox."""

    NOTEBOOK = "notebook"  #: Jupyter in the sandbox
    CLI = "cli"  #: a shell of the sandbox
    LOCAL = "local"  #: the agent has its own folder, and calls what is served


@checked
@dataclass
class ModelConfig:
    """A model: ``org/name`` of the Hugging Face Hub, a folder, or ``scheme:name`` of a fetcher."""

    name: str
    revision: Optional[str] = None  #: branch, tag or commit
    var_name: Optional[str] = None  #: variable in the notebook or interpreter; default model, then model_2 …
    hidden: Optional[bool] = None  #: the agent does not learn the name
    is_peft: Optional[bool] = None  #: an adapter; needs base_model
    base_model: Optional[str] = None  #: of the adapter
    include: Optional[list[str]] = None  #: patterns of files
    exclude: Optional[list[str]] = None  #: patterns of files to leave out
    dtype: Optional[str] = None  #: such as "bfloat16"; default "auto"
    device: Optional[str] = None  #: such as "cuda"; default "auto"
    load_as_peft: Optional[bool] = None  #: wrapped in a blank LoRA adapter


@checked
@dataclass
class DatasetConfig:
    """A dataset of the Hugging Face Hub, or a folder."""

    name: str  #: as that of a model
    revision: Optional[str] = None  #: branch, tag or commit
    include: Optional[list[str]] = None  #: patterns of files
    exclude: Optional[list[str]] = None  #: patterns of files to leave out


@checked
@dataclass
class RepoConfig:
    """A Git repository that is cloned: a URL, or ``org/name`` of GitHub."""

    url: str
    ref: Optional[str] = None  #: branch, tag or commit
    install: Optional[str] = None  #: command that is run in it


@checked
@dataclass
class ImageConfig:
    """The image from which the sandbox starts."""

    base: Optional[str] = None  #: name of an image in a registry, or its path on a host or cluster
    snapshot: Optional[str] = None  #: reference of a saved system
    commands: Optional[list[str]] = None  #: run once, when it is built


@checked
@dataclass
class VolumeConfig:
    """A disk of the provider that outlives sandboxes."""

    name: str  #: at the provider
    path: str  #: absolute, in the sandbox
    size: Optional[str] = None  #: when it is made, such as "100GB"; default the provider's
    read_only: Optional[bool] = None  #: the sandbox cannot write to it
    models: Optional[bool] = None  #: keeps models for the next machine


@checked
@dataclass
class SandboxConfig:
    """A sandbox: its machine and its contents.

    ``gpu=None`` is a machine without a GPU. Without ``provider``, Seer uses this computer if ``gpu``
    is None or this computer has the GPU. Otherwise it rents the machine at Modal, or at the provider
    that ``providers.default_gpu`` of your configuration names.
    """

    gpu: Union[str, list[str], None] = "A100"  #: type, or types in order of preference
    gpu_count: Optional[int] = None  #: default 1
    gpu_share: Union[int, str, None] = None  #: of each GPU: 4 is a quarter, "20GB" an amount; default the whole GPU
    execution_mode: Optional[ExecutionMode] = ExecutionMode.NOTEBOOK  #: None is a sandbox that only serves functions
    models: list[Union[ModelConfig, str]] = field(default_factory=list)  #: put under /models
    datasets: list[Union[DatasetConfig, str]] = field(default_factory=list)  #: put under /datasets
    repos: list[Union[RepoConfig, str]] = field(default_factory=list)  #: cloned into /workspace
    python_packages: list[str] = field(default_factory=list)  #: as pip writes them: "numpy>=1.24"
    system_packages: list[str] = field(default_factory=list)  #: of apt
    python_version: Optional[str] = None  #: such as "3.11"; default the one of the machine
    secrets: list[str] = field(default_factory=list)  #: names of variables of this computer, or of .env
    env: dict[str, str] = field(default_factory=dict)  #: variables of the sandbox
    timeout: Union[int, float, str, None] = None  #: seconds, or "2h"; default 3600; the sandbox then ends
    idle_timeout: Union[int, float, str, None] = None  #: seconds, or "15m", without use, after which the sandbox ends; default never
    local_files: list[tuple[PathLike, str]] = field(default_factory=list)  #: (here, in the sandbox)
    local_dirs: list[tuple[PathLike, str]] = field(default_factory=list)  #: (here, in the sandbox)
    debug: Optional[bool] = None  #: VS Code in the browser; default False
    provider: Union[str, list[str], None] = None  #: "local", a plugin's name, or a list in order of preference; default: see above
    max_wait: Union[int, float, str, None] = None  #: longest wait in each provider's queue; default "5m", "30m" for the last choice
    provider_options: Optional[dict[str, Any]] = None  #: options by the name of a provider
    image: Union[ImageConfig, str, None] = None  #: file system to start from
    volumes: list[VolumeConfig] = field(default_factory=list)  #: disks that outlive the sandbox
    cpu: Optional[float] = None  #: minimum cores; default the provider's
    memory: Union[str, float, None] = None  #: minimum memory in GiB, or "16GB" (16 GiB); default the provider's
    disk: Union[str, float, None] = None  #: GB, or "100GB"; default the provider's
    region: Union[str, list[str], None] = None  #: in the provider's names; default anywhere
    max_price: Optional[float] = None  #: US dollars an hour; default any
    budget: Optional[float] = None  #: most that the sandbox may cost, in US dollars; default no limit but timeout
    ports: list[int] = field(default_factory=list)  #: further ports of the sandbox to make reachable
    host_ports: list[int] = field(default_factory=list)  #: ports of this computer's 127.0.0.1 that the sandbox reaches; local provider only
    isolation: Optional[str] = None  #: "auto", "gvisor", "bubblewrap" or "none"; default "auto"
    nested_sandbox: Optional[bool] = None  #: programs may make sandboxes of their own; default False
    network: Union[str, list[str], None] = None  #: "open", "none", "host", or the only hosts; default "open"
    jupyter_port: Optional[int] = None  #: default 8888, or a free one
    debug_port: Optional[int] = None  #: of VS Code; default 8443, or a free one

    def experiment(self, scoped: bool = False) -> dict[str, Any]:
        """The experiment for the engine. A scoped sandbox has no execution mode."""
        values, problems = self._experiment(scoped)
        if problems:
            raise ConfigError("", problems)
        return values

    def _experiment(self, scoped: bool) -> tuple[dict[str, Any], list[Problem]]:
        """The experiment, and what in it the engine cannot be told. It has a value there that the
        engine refuses, so that all mistakes are found at once."""
        problems: list[Problem] = []
        values = _fields(self, "", problems)
        if scoped:
            values.pop("execution_mode", None)
        return {"sandbox": values}, problems


_REFUSED = [[]]  # type: ignore[var-annotated] # no field has this type


class _NotJSON(Exception):
    """A value that JSON does not have."""


def _fields(value: Any, where: str, problems: list[Problem]) -> dict[str, Any]:
    """A configuration as JSON has it, without fields that are not set."""
    made = {}
    for f in fields(value):
        place, content = where + f.name, getattr(value, f.name)
        try:
            plain = _json(content, place, problems)
        except _NotJSON as e:
            found = arguments.problems(content, arguments.of_fields(type(value))[f.name], place)
            problems += found or [Problem(place, str(e))]
            plain = _REFUSED
        if plain is not None and plain != [] and plain != {}:
            made[f.name] = plain
    return made


def _json(value: Any, where: str, problems: list[Problem]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value, where + ".", problems)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, os.PathLike):
        return _json(os.fspath(value), where, problems)
    if isinstance(value, dict):
        return {str(k): _json(v, f"{where}.{k}", problems) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(v, f"{where}[{i}]", problems) for i, v in enumerate(value)]
    if value is None or isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value):
        return value
    shown = value if isinstance(value, float) else type(value).__name__
    raise _NotJSON(f"has a value that cannot be in a configuration: {shown}")
