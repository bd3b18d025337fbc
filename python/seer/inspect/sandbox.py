"""The sandbox environment that Inspect AI finds under the name seer."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Literal, Optional, Union, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from .. import errors
from ..environment import Sandbox, SandboxConfig

# Prints the size of a file, or ends with one of these codes. Bits that nobody has count also for
# root, to whom they mean nothing.
_LOOK = """
[ -e "$1" ] || exit 44
[ ! -d "$1" ] || exit 45
case $2 in
  r) [ -r "$1" ] && [ -n "$(find -L "$1" -maxdepth 0 -perm /444)" ] || exit 46 ;;
  w) [ -w "$1" ] && [ -n "$(find -L "$1" -maxdepth 0 -perm /222)" ] || exit 46 ;;
esac
wc -c <"$1"
"""
_MISSING, _FOLDER, _FORBIDDEN = 44, 45, 46


def _unshown(event: dict[str, Any], text: str) -> None:
    """Inspect shows how far an eval is."""


class SeerSandboxConfig(BaseModel, frozen=True):
    """A configuration in code: the fields of ``sandbox`` in an experiment."""

    sandbox: dict[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


@sandboxenv(name="seer")
class SeerSandbox(SandboxEnvironment):
    """One sandbox for each sample. It ends with the sample, and with the program."""

    def __init__(self, sandbox: Sandbox):
        super().__init__()
        self.sandbox = sandbox

    @classmethod
    def config_files(cls) -> list[str]:
        return ["seer.yaml"]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return SeerSandboxConfig(**config)

    @classmethod
    def default_concurrency(cls) -> Optional[int]:
        return 2 * (os.cpu_count() or 1)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Optional[SandboxEnvironmentConfigType], metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        if isinstance(config, SeerSandboxConfig):
            sandbox = Sandbox(SandboxConfig(**{"gpu": None, "execution_mode": None, **config.sandbox}), progress=_unshown)
        elif isinstance(config, str):
            sandbox = Sandbox.from_file(config, progress=_unshown)
        elif config is None:
            sandbox = Sandbox(SandboxConfig(gpu=None, provider="local", execution_mode=None), progress=_unshown)
        else:
            raise ValueError(f"seer: the configuration is a {type(config).__name__}; use the path of an experiment or SeerSandboxConfig")
        await sandbox.start.aio()
        return {"default": cls(sandbox)}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: Optional[SandboxEnvironmentConfigType], environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        for environment in environments.values():
            await environment.as_type(SeerSandbox).sandbox.terminate.aio()

    @classmethod
    async def cli_cleanup(cls, id: Optional[str]) -> None:
        """Ends one sandbox. Those of a task have ended with it, so there are no others to find."""
        if id is None:
            print("seer: the sandboxes of a task end with it; name one to end it")
            return
        await Sandbox.from_id(id).terminate.aio()

    async def exec(
        self,
        cmd: list[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user is not None and user not in await self._users():
            raise SandboxUserUnsupportedError(f"a sandbox of Seer has one user; commands cannot run as {user!r}")
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        try:
            result = await self.sandbox.exec.aio(cmd, input=input, cwd=cwd, env=env, timeout=timeout, limit=limit)
        except errors.NotFoundError as e:
            return ExecResult(False, 127, "", str(e))
        except errors.Error as e:
            if "permission denied" in str(e):
                raise PermissionError(str(e)) from None
            raise
        if result.timed_out:
            raise TimeoutError(f"the command ran longer than {timeout} s")
        if result.truncated:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, result.stdout)
        return ExecResult(result.exit_code == 0, result.exit_code, result.stdout, result.stderr)

    async def _users(self) -> list[str]:
        said = await self.sandbox.exec.aio("id -un; id -u")
        return said.stdout.split()

    async def _look(self, file: str, access: str) -> Optional[int]:
        """The size of a file, and None if there is none."""
        said = await self.sandbox.exec.aio(["/bin/sh", "-c", _LOOK, "sh", file, access])
        if said.exit_code == _FOLDER:
            raise IsADirectoryError(f"{file} is a directory")
        if said.exit_code == _FORBIDDEN:
            raise PermissionError(f"{file}: permission denied")
        return None if said.exit_code == _MISSING else int(said.stdout)

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        await self._look(file, "w")
        with tempfile.TemporaryDirectory(prefix="seer-") as folder:
            local = Path(folder) / "file"
            local.write_bytes(contents.encode() if isinstance(contents, str) else contents)
            await self.sandbox.upload.aio(local, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        size = await self._look(file, "r")
        if size is None:
            raise FileNotFoundError(f"{file}: no such file")
        if size > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        with tempfile.TemporaryDirectory(prefix="seer-") as folder:
            local = Path(folder) / "file"
            await self.sandbox.download.aio(file, local)
            content = local.read_bytes()
        return content.decode() if text else content

    async def connection(self, *, user: Optional[str] = None) -> SandboxConnection:
        return SandboxConnection(type="seer", command=f"seer shell {self.sandbox.sandbox_id}", container=self.sandbox.sandbox_id)
