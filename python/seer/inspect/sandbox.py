"""The sandbox environment that Inspect AI finds under the name seer."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
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
from .._engine import blocking, engine
from ..environment import Sandbox, SandboxConfig
from ..environment.experiment import EnvironmentClient

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

# Prints the name and the number of the user, and a word if the sandbox has other users.
_USERS = "id -un; id -u; while read -r _ _ count; do [ \"$count\" = 1 ] || echo many; done </proc/self/uid_map"

# The name of a sandbox of a sample, by which cli_cleanup finds those that outlived their eval.
_NAME = re.compile("inspect-[0-9a-f]{12}")

_started: dict[str, Sandbox] = {}  # that no cleanup has ended, by ID


def _unshown(event: dict[str, Any], text: str) -> None:
    """Inspect shows how far an eval is."""


class SeerSandboxConfig(BaseModel, frozen=True):
    """A configuration in code: the fields of ``sandbox`` in an experiment."""

    sandbox: dict[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


@blocking
async def _names() -> dict[str, str]:
    """The names of all sandboxes that live, by ID."""
    found = await engine().call("sandbox.list", {})
    return {s["id"]: s.get("name") or "" for s in found["sandboxes"] or () if s["state"] not in ("stopped", "failed")}


async def _end(sandbox: Sandbox) -> None:
    await sandbox.terminate.aio()
    _started.pop(sandbox.sandbox_id, None)


async def _keep(sandbox: Sandbox) -> None:
    _started.pop(sandbox.sandbox_id, None)
    await sandbox.detach.aio()


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
        more: dict[str, Any] = {"name": "inspect-" + secrets.token_hex(6), "progress": _unshown}
        if isinstance(config, SeerSandboxConfig):
            sandbox = Sandbox(SandboxConfig(**{"gpu": None, "execution_mode": None, **config.sandbox}), **more)
        elif isinstance(config, str):
            sandbox = Sandbox.from_file(config, **more)
        elif config is None:
            sandbox = Sandbox(SandboxConfig(gpu=None, provider="local", execution_mode=None), **more)
        else:
            raise ValueError(f"seer: the configuration is a {type(config).__name__}; use the path of an experiment or SeerSandboxConfig")
        await sandbox.start.aio()
        _started[sandbox.sandbox_id] = sandbox
        return {"default": cls(sandbox)}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: Optional[SandboxEnvironmentConfigType], environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        for environment in environments.values():
            await _end(environment.as_type(SeerSandbox).sandbox)

    @classmethod
    async def task_cleanup(cls, task_name: str, config: Optional[SandboxEnvironmentConfigType], cleanup: bool) -> None:
        """Ends what the samples have left. Without cleanup, each sandbox lives until its timeout."""
        left = list(_started.values())
        ended = await asyncio.gather(*(_end(s) if cleanup else _keep(s) for s in left), return_exceptions=True)
        if kept := [s.sandbox_id for s, e in zip(left, ended) if not cleanup and e is None]:
            lines = [f"seer: sandboxes that live until their timeout: {len(kept)}", *(f"  seer shell {i}" for i in kept)]
            lines.append("End one with: inspect sandbox cleanup seer ID. End all with: inspect sandbox cleanup seer.")
            print("\n".join(lines), file=sys.stderr)
        for failed in ended:
            if isinstance(failed, BaseException) and not isinstance(failed, errors.NotFoundError):
                raise failed

    @classmethod
    async def cli_cleanup(cls, id: Optional[str]) -> None:
        """Ends one sandbox, or all that samples have left; those of evals that run, too."""
        left = [id] if id is not None else [i for i, name in (await _names.aio()).items() if _NAME.fullmatch(name)]
        await asyncio.gather(*(EnvironmentClient().terminate_sandbox.aio(i) for i in left))
        print(f"seer: ended sandboxes: {len(left)}")

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
        if user is not None:
            cmd = await self._as_user(user, cmd)
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

    async def _as_user(self, user: str, cmd: list[str]) -> list[str]:
        """The command for a user of the sandbox. Root can run it where the sandbox has other users."""
        name, number, *many = (await self.sandbox.exec.aio(_USERS)).stdout.split()
        if user in (name, number):
            return cmd
        if number != "0" or not many:
            raise SandboxUserUnsupportedError(
                f"the command cannot run as {user!r}: the sandbox has one user, {name}; use a sandbox whose commands run as root"
            )
        return ["runuser", "-u", user, "--", *cmd]

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
