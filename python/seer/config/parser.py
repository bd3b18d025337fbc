"""Reads experiment files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Union

from .._engine import blocking, engine
from ..environment.config import DatasetConfig, ExecutionMode, ImageConfig, ModelConfig, RepoConfig, VolumeConfig
from ..environment.experiment import MODEL_VOLUME, ExperimentConfig, GPUConfig

_ITEMS = {"models": ModelConfig, "datasets": DatasetConfig, "repos": RepoConfig, "volumes": VolumeConfig}
# The engine makes a list of what may be one value.
_ONE = ("gpu", "provider", "region", "network")


@blocking
async def load_config(path: Union[str, Path]) -> ExperimentConfig:
    """Reads an experiment file of either form: with ``sandbox``, or with its fields at the top.

    Raises ConfigError with all mistakes, each with its line. Models, secrets and files that the
    experiment names are not looked for; starting it does.
    """
    file = os.path.abspath(path)
    got = (await engine().call("experiment.load", {"file": file}))["experiment"]
    sandbox = _sandbox(got.pop("sandbox", {}))
    volumes = sandbox.pop("volumes", [])
    gpu = GPUConfig(sandbox.pop("gpu", None), sandbox.pop("gpu_count", None), MODEL_VOLUME in volumes)
    if others := [v for v in volumes if v != MODEL_VOLUME]:
        sandbox["volumes"] = others
    return ExperimentConfig(
        name=got.pop("name", ""), gpu=gpu, image=sandbox.pop("image", None), models=sandbox.pop("models", []),
        github_repos=sandbox.pop("repos", []), sandbox=sandbox, base_dir=os.path.dirname(file), others=got,
    )


def _sandbox(values: dict[str, Any]) -> dict[str, Any]:
    """The fields as SandboxConfig has them."""
    values = {k: v for k, v in values.items() if v is not None}
    for key, kind in _ITEMS.items():
        if key in values:
            values[key] = [kind(**item) if isinstance(item, dict) else item for item in values[key]]
    for key in _ONE:
        if isinstance(values.get(key), list) and len(values[key]) == 1:
            values[key] = values[key][0]
    if "image" in values:
        values["image"] = ImageConfig(**values["image"])
    mode = values.get("execution_mode")
    values["execution_mode"] = ExecutionMode(mode) if mode else None
    return values
