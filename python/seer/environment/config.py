"""The configuration of a sandbox. Its fields are those of an experiment file.

The engine checks the values, and reports all mistakes at once in a ``ConfigError``. A field that
is None is left to the engine's default, which ``docs/experiment.md`` tells.
"""

from __future__ import annotations

import difflib
import enum
import functools
import os
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

from ..errors import ConfigError, Problem

T = TypeVar("T")
PathLike = Union[str, "os.PathLike[str]"]


class ExecutionMode(str, enum.Enum):
    """How the agent uses the sandbox."""

    NOTEBOOK = "notebook"  #: Jupyter in the sandbox
    CLI = "cli"  #: a shell of the sandbox
    LOCAL = "local"  #: the agent has its own folder, and calls what is served


def _checked(cls: type[T]) -> type[T]:
    """Has the class report all unknown fields at once, with the nearest known names."""
    made = cls.__init__
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]

    @functools.wraps(made)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        problems = []
        for name in kwargs:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(names)
                problems.append(Problem(f"{cls.__name__}.{name}", "unknown field", hint))
        if problems:
            raise ConfigError("", problems)
        made(self, *args, **kwargs)

    cls.__init__ = init  # type: ignore[method-assign]
    return cls


@_checked
@dataclass
class ModelConfig:
    """A model: ``org/name`` of the Hugging Face Hub, a folder, or ``scheme:name`` of a fetcher."""

    name: str
    revision: Optional[str] = None  #: branch, tag or commit
    var_name: Optional[str] = None  #: variable in the notebook or interpreter
    hidden: Optional[bool] = None  #: the agent does not learn the name
    is_peft: Optional[bool] = None  #: an adapter; needs base_model
    base_model: Optional[str] = None
    include: Optional[list[str]] = None  #: patterns of files
    exclude: Optional[list[str]] = None
    dtype: Optional[str] = None
    device: Optional[str] = None
    load_as_peft: Optional[bool] = None


@_checked
@dataclass
class DatasetConfig:
    """A dataset of the Hugging Face Hub, or a folder."""

    name: str
    revision: Optional[str] = None
    include: Optional[list[str]] = None
    exclude: Optional[list[str]] = None


@_checked
@dataclass
class RepoConfig:
    """A Git repository that is cloned: a URL, or ``org/name`` of GitHub."""

    url: str
    ref: Optional[str] = None  #: branch, tag or commit
    install: Optional[str] = None  #: command that is run in it


@_checked
@dataclass
class ImageConfig:
    """What the sandbox starts from."""

    base: Optional[str] = None  #: name of an image in a registry
    snapshot: Optional[str] = None  #: reference of a saved system
    commands: Optional[list[str]] = None  #: run once, when it is built


@_checked
@dataclass
class VolumeConfig:
    """A disk of the provider that outlives sandboxes."""

    name: str
    path: str
    size: Optional[str] = None  #: such as "100GB"
    read_only: Optional[bool] = None
    models: Optional[bool] = None  #: keeps models for the next machine


@_checked
@dataclass
class SandboxConfig:
    """A sandbox: its machine, and what is put into it.

    ``gpu=None`` is a machine without a GPU. Without ``provider``, the sandbox is on this computer
    if that has the GPU or none is wanted, and else at the default cloud.
    """

    gpu: Union[str, list[str], None] = "A100"  #: type, or types in order of preference
    gpu_count: Optional[int] = None
    execution_mode: Optional[ExecutionMode] = ExecutionMode.NOTEBOOK
    models: list[Union[ModelConfig, str]] = field(default_factory=list)
    datasets: list[Union[DatasetConfig, str]] = field(default_factory=list)
    repos: list[Union[RepoConfig, str]] = field(default_factory=list)
    python_packages: list[str] = field(default_factory=list)
    system_packages: list[str] = field(default_factory=list)
    python_version: Optional[str] = None
    secrets: list[str] = field(default_factory=list)  #: names of variables of this computer
    env: dict[str, str] = field(default_factory=dict)
    timeout: Union[int, float, str, None] = None  #: seconds, or "2h"; the sandbox then ends
    idle_timeout: Union[int, float, str, None] = None
    local_files: list[tuple[PathLike, str]] = field(default_factory=list)  #: (here, in the sandbox)
    local_dirs: list[tuple[PathLike, str]] = field(default_factory=list)
    debug: Optional[bool] = None  #: VS Code in the browser
    provider: Union[str, list[str], None] = None
    provider_options: Optional[dict[str, Any]] = None
    image: Union[ImageConfig, str, None] = None
    volumes: list[VolumeConfig] = field(default_factory=list)
    cpu: Optional[float] = None
    memory: Union[str, float, None] = None
    disk: Union[str, float, None] = None
    region: Union[str, list[str], None] = None
    max_price: Optional[float] = None  #: US dollars an hour
    budget: Optional[float] = None  #: US dollars
    ports: list[int] = field(default_factory=list)
    host_ports: list[int] = field(default_factory=list)
    isolation: Optional[str] = None
    nested_sandbox: Optional[bool] = None
    network: Union[str, list[str], None] = None
    jupyter_port: Optional[int] = None
    debug_port: Optional[int] = None

    def experiment(self, scoped: bool = False) -> dict[str, Any]:
        """The experiment for the engine. A scoped sandbox has no execution mode."""
        values = _plain(self)
        if scoped:
            values.pop("execution_mode", None)
        return {"sandbox": values}


def _plain(value: Any) -> Any:
    """The value as JSON has it, without fields that are not set."""
    if is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {k: v for k, v in plain.items() if v is not None and v != [] and v != {}}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value
