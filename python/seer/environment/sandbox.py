"""A sandbox, and what can be done with it."""

from __future__ import annotations

import os
import time

from .._engine import blocking, blocking_class, blocking_self, engine
from ..errors import ConfigError, Error, Problem

TYPE_CHECKING = False  # the import of Sandbox costs less than 5 ms: see _lazy
if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any, Callable, Literal, Optional, TypeVar, Union

    from .._engine import wire
    from .config import SandboxConfig
    from .results import ExecResult, ModelHandle, Snapshot

    S = TypeVar("S", bound="Sandbox")
    Progress = Callable[[dict[str, Any], str], None]


_SMALL = 1 << 20  # bytes of a file whose content may be part of a message
_SOON = 5  # seconds in which the state must be known to be shown


def _annotated() -> dict[str, Any]:
    """The names in the annotations of this module, for the check of arguments."""
    from . import config, results

    return {**vars(config), **vars(results)}


class Sandbox:
    """A sandbox on this computer or on a rented machine.

    It ends with ``terminate``, with the ``with`` block, and with this program, however that ends,
    unless ``detach`` was called. Each method also has the form ``await sandbox.exec.aio(…)``.
    """

    _scoped = False

    def __init__(
        self, config: Optional[SandboxConfig] = None, name: Optional[str] = None, progress: Optional[Progress] = None, *,
        max_wait: float = 0,
    ):
        """``name`` is a name by which ``from_id`` and ``seer`` find the sandbox. ``max_wait`` is
        the longest wait for a free machine or GPU, in seconds: 0 takes the ``max_wait`` of
        ``config``, and ``math.inf`` sets no limit. Seer calls ``progress`` with each event and its
        sentence. Without ``progress``, a notebook or a terminal shows the progress of the work."""
        __tracebackhide__ = True
        problems = _wrong(config, name, progress, max_wait)
        if problems:
            raise ConfigError("", problems)
        self.config = config if config is not None else _default()
        self._name, self._progress, self._snapshot = name, progress, ""
        self._max_wait = min(float(max_wait), _LONGEST)
        self._problems: list[Problem] = []  # of source, which only the types of Python show
        self._source: wire.StartParams = {}  # type: ignore[typeddict-item]  # where it is not config alone
        self._info: wire.Info = {}  # type: ignore[typeddict-item]  # until it has started

    @blocking_self
    async def start(self: S) -> S:
        """Makes the sandbox: rents or starts the machine, and brings everything into it.

        Raises ConfigError with all mistakes before anything is rented. If it fails or is
        interrupted, what was rented has been ended.
        """
        return await self._start()

    async def _start(self: S) -> S:
        if self._info:
            raise Error(f"the sandbox {self.sandbox_id} was started before; make another one", "conflict")
        params: wire.StartParams = {"dir": os.getcwd(), "name": self._name or "", "snapshot": self._snapshot, "max_wait": self._max_wait}
        problems = self._problems
        if not self._source:
            values, problems = self.config._experiment(self._scoped)
            # A session loads the models, and is told then what else its kernels begin with.
            params["experiment"] = {**values, "workspace": {"preload_models": False}}
        params.update(self._source)
        if self._scoped and "file" in params:
            params = await _without_mode(params)
        try:
            self._info = await engine().call("sandbox.start", params, self._progress)
        except ConfigError as e:
            more = [p for p in e.problems if not any(_inside(p.field, own.field) for own in problems)]
            for problem in more:
                if any(f"`{name}`" in problem.message and name in os.environ for name in self.config.secrets):
                    problem.hint = "it was set after the engine started: set it before the first sandbox, or in .env"
            if not problems and not more:
                raise
            raise ConfigError("", [*problems, *more], remedies=e.remedies) from None
        return self

    @classmethod
    def from_file(cls: type[S], path: Union[str, Path], **more: Any) -> S:
        """A sandbox of an experiment file, to be started. Only its ``sandbox`` counts."""
        made = cls(**more)
        if not isinstance(path, (str, os.PathLike)):
            raise ConfigError("", [Problem("from_file.path", f"must be a path, not {type(path).__name__}")])
        made._source = {"dir": os.getcwd(), "file": os.path.abspath(path)}
        return made

    @blocking_class
    async def from_snapshot(
        cls: type[S], /, snapshot: Union[Snapshot, str], config: Optional[SandboxConfig] = None, **more: Any,
    ) -> S:
        """Starts a sandbox with the files of a snapshot. ``more`` is the rest of what the class
        takes."""
        made = cls(config, **more)
        made._snapshot = snapshot if isinstance(snapshot, str) else snapshot.name
        return await made._start()

    @blocking_class
    async def from_id(cls: type[S], sandbox: str) -> S:
        """Finds a sandbox that runs, by its ID, an unambiguous beginning of it, or its name. It
        does not end with this program."""
        found = cls()
        found._info = await engine().call("sandbox.open", {"sandbox": sandbox})
        return found

    @blocking
    async def terminate(self) -> None:
        """Ends the sandbox and everything in it. It may be called again."""
        await self._terminate()

    async def _terminate(self) -> None:
        if self._info:
            await engine().call("sandbox.terminate", {"sandbox": self.sandbox_id}, self._progress)
            self._info["state"] = "stopped"

    @blocking
    async def detach(self, seconds: Optional[float] = None) -> None:
        """Keeps the sandbox running after this program ends, for ``seconds`` or, by default, until its
        ``timeout``."""
        if seconds is None:
            hard_end = self._info["lease"]["hard_end"]
            seconds = max(1.0, _unix(hard_end) - time.time())
        await engine().call("sandbox.detach", {"sandbox": self.sandbox_id, "seconds": seconds}, self._progress)

    @blocking
    async def exec(
        self, cmd: Union[str, list[str]], *, cwd: Optional[str] = None, env: Optional[dict[str, str]] = None,
        input: Union[str, bytes, None] = None, timeout: Optional[float] = None, check: bool = False, limit: int = 10 << 20,
    ) -> ExecResult:
        """Runs a command. A string runs in a shell; a list is a program and its arguments.

        ``timeout`` is in seconds (default: no limit). ``limit`` is how many bytes of stdout and of
        stderr are kept, each (default: 10 MiB, at most 64 MiB). With ``check``, a command that fails
        raises a CommandError.
        """
        params: wire.ExecParams = {
            "sandbox": self.sandbox_id, "cwd": cwd or "", "env": env or {}, "stdin": _encoded(input),
            "seconds": timeout or 0, "limit": limit,
        }
        if isinstance(cmd, str):
            params["shell"] = cmd
        else:
            params["argv"] = list(cmd)
        return await self._exec(str(cmd), check, params)

    @blocking
    async def exec_python(self, code: str, *, check: bool = False) -> ExecResult:
        """Runs code in a fresh interpreter of the sandbox. Models are not loaded there."""
        return await self._exec("the code", check, {"sandbox": self.sandbox_id, "python": code})

    async def _exec(self, what: str, check: bool, params: wire.ExecParams) -> ExecResult:
        got = await engine().call("sandbox.exec", params, self._progress)
        from .results import CommandError, ExecResult

        stdout, stderr = (_bytes(b).decode(errors="replace") for b in (got["stdout"], got["stderr"]))
        result = ExecResult(got["exit_code"], stdout, stderr, got["truncated"], got["timed_out"])
        if check and result.exit_code != 0:
            raise CommandError(what, result)
        return result

    @blocking
    async def write_file(self, path: str, content: Union[str, bytes]) -> None:
        """Writes a file of any size, whole or not at all. Missing folders are made."""
        data = content.encode() if isinstance(content, str) else content
        if len(data) <= _SMALL:
            params: wire.FileParams = {"sandbox": self.sandbox_id, "path": path, "content": _encoded(data)}
            await engine().call("sandbox.write", params, self._progress)
            return
        with _temporary() as local:
            with open(local, "xb") as file:
                file.write(data)
            os.chmod(local, 0o644)
            await self._copy("sandbox.upload", local, path)

    @blocking
    async def read_file(self, path: str) -> bytes:
        """Reads a file of any size."""
        with _temporary() as local:
            await self._copy("sandbox.download", local, path)
            if os.path.isdir(local):
                raise Error(f"{path} is a folder and cannot be read; use download", "call")
            with open(local, "rb") as file:
                return file.read()

    @blocking
    async def ensure_dir(self, path: str) -> None:
        """Makes a folder and its parents."""
        await engine().call("sandbox.mkdir", {"sandbox": self.sandbox_id, "path": path}, self._progress)

    @blocking
    async def upload(self, local: Union[str, Path], remote: str) -> None:
        """Copies a file or folder of this computer into the sandbox."""
        await self._copy("sandbox.upload", local, remote)

    @blocking
    async def download(self, remote: str, local: Union[str, Path]) -> None:
        """Copies a file or folder of the sandbox to this computer."""
        await self._copy("sandbox.download", local, remote)

    async def _copy(self, method: Literal["sandbox.upload", "sandbox.download"], local: Union[str, Path], remote: str) -> None:
        params: wire.FileParams = {"sandbox": self.sandbox_id, "local": os.path.abspath(local), "path": remote}
        await engine().call(method, params, self._progress)

    @blocking
    async def snapshot(self, description: str = "", *, name: Optional[str] = None, memory: bool = False) -> Snapshot:
        """Saves the files of the sandbox, with ``memory`` also its processes.

        Without a name, one is made of the description and the time.
        """
        from .results import Snapshot

        name = name or _name_of(description)
        params: wire.SaveParams = {"sandbox": self.sandbox_id, "name": name, "description": description, "memory": memory}
        saved = await engine().call("sandbox.save", params, self._progress)
        return Snapshot(saved["name"], saved["id"], description)

    @blocking
    async def fork(self: S, copies: int = 1) -> list[S]:
        """Makes copies of the running sandbox that go on where it is, with its files, processes and
        their memory.

        The sandbox must be on this computer, with ``isolation="gvisor"`` and with
        ``network="none"`` or a list of hosts. Copies share its GPU. Any other one is an
        UnsupportedError; ``snapshot`` and ``from_snapshot`` copy the files of any sandbox.
        """
        made = []
        got = await engine().call("sandbox.fork", {"sandbox": self.sandbox_id, "copies": copies}, self._progress)
        for info in got["sandboxes"] or ():
            copy = type(self)(self.config)
            copy._info = info
            made.append(copy)
        return made

    @property
    def sandbox_id(self) -> str:
        """The identity: ``sb-`` and ten characters."""
        if not self._info:
            raise Error("the sandbox was not started; call start() first", "conflict")
        return str(self._info["id"])

    @property
    def jupyter_url(self) -> Optional[str]:
        """Jupyter with its token; None unless the mode is NOTEBOOK."""
        return self._handle().get("jupyter_url") or None

    @property
    def code_server_url(self) -> Optional[str]:
        """VS Code in the browser; None without debug."""
        return self._handle().get("code_server_url") or None

    @property
    def model_handles(self) -> list[ModelHandle]:
        """The models in the sandbox."""
        from .results import ModelHandle

        return [
            ModelHandle(m["name"], m["path"], m["var_name"], m["hidden"], m["is_peft"], m.get("base_model"))
            for m in self._info.get("models") or ()
        ]

    def _handle(self) -> wire.Handle:
        self.sandbox_id  # noqa: B018 - raises if there is none
        return self._info.get("environment") or {}  # type: ignore[return-value]

    @blocking_self
    async def __enter__(self: S) -> S:
        return self if self._info else await self._start()

    @blocking
    async def __exit__(self, *_: object) -> None:
        await self._terminate()

    def __aenter__(self: S) -> Awaitable[S]:
        return self.__enter__.aio()

    def __aexit__(self, *_: object) -> Awaitable[None]:
        return self.terminate.aio()

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self._info:
            return f"<{name}, not started>"
        return f"<{name} {self._info['id']} on {self._info['provider']}>"

    def _repr_html_(self) -> str:
        from .._engine import html

        if not self._info:
            return html.escape(repr(self))
        info = self._now()
        gpu = f"{info.get('gpu_count') or 1} × {info['gpu']}" if info.get("gpu") else ""
        cost = f"{info['cost']:.2f} USD so far, {info['cost_per_hour']:.2f} USD an hour" if info.get("cost_per_hour") else ""
        links = [(title, html.Link(url)) for title, url in (("Jupyter", self.jupyter_url), ("VS Code", self.code_server_url)) if url]
        return html.table(
            ("Sandbox", info["id"]), ("State", info["state"]), ("Provider", info["provider"]), ("GPU", gpu), ("Cost", cost),
            *(links if info["state"] == "running" else ()),
        )

    def _now(self) -> wire.Info:
        """The sandbox as it is now, or as it was when the engine was last asked and answered."""
        import asyncio
        from contextlib import suppress

        from .._engine import loop

        async def ask() -> wire.Info:
            asked = engine().call("sandbox.open", {"sandbox": self.sandbox_id}, lambda event, text: None)
            return await asyncio.wait_for(asked, _SOON)

        with suppress(Error, asyncio.TimeoutError):
            self._info = loop.wait(ask())
        return self._info


def _default() -> SandboxConfig:
    from .config import SandboxConfig

    return SandboxConfig()


_LONGEST = 1e9  # seconds; JSON has no infinity


def _wrong(config: object, name: object, progress: object, max_wait: object) -> list[Problem]:
    if config is None and name is None and progress is None and max_wait == 0:
        return []
    from .config import SandboxConfig

    problems = []
    for field, value, fits, want, hint in (
        ("config", config, isinstance(config, SandboxConfig), "a SandboxConfig", 'such as SandboxConfig(gpu="A100")'),
        ("name", name, isinstance(name, str), "a text", ""),
        ("progress", progress, callable(progress), "a function", "of the event and its sentence"),
    ):
        if value is not None and not fits:
            problems.append(Problem(field, f"must be {want}, not {type(value).__name__}", hint))
    if isinstance(max_wait, bool) or not isinstance(max_wait, (int, float)) or not max_wait >= 0:
        problems.append(Problem("max_wait", f"must be a number of seconds from 0 on, not {max_wait!r}", "such as 3600, or math.inf"))
    return problems


async def _without_mode(params: wire.StartParams) -> wire.StartParams:
    """The sandbox of an experiment file for a scoped one, which has no execution mode."""
    file = params["file"]
    got = (await engine().call("experiment.load", {"file": file}))["experiment"]
    sandbox = {k: v for k, v in got.get("sandbox", {}).items() if v is not None and k != "execution_mode"}
    experiment = {**({"name": got["name"]} if got.get("name") else {}), "sandbox": sandbox, "workspace": {"preload_models": False}}
    return {**{k: v for k, v in params.items() if k != "file"}, "experiment": experiment, "dir": os.path.dirname(file)}  # type: ignore[typeddict-item]


def _inside(field: str, outer: str) -> bool:
    return field == outer or field.startswith((outer + ".", outer + "["))


def _temporary() -> AbstractContextManager[str]:
    """The path of a file that does not exist yet, and is removed in the end."""
    import tempfile
    from contextlib import contextmanager

    @contextmanager
    def path() -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="seer-") as folder:
            yield os.path.join(folder, "file")

    return path()


def _encoded(content: Union[str, bytes, None]) -> str:
    import base64

    if content is None:
        return ""
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def _bytes(content: Optional[str]) -> bytes:
    import base64

    return base64.b64decode(content or "")


def _name_of(description: str) -> str:
    import re

    words = re.sub(r"[^a-z0-9]+", "-", description.lower()).strip("-")[:30] or "snapshot"
    return f"{words}-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


def _unix(stamp: str) -> float:
    import re
    from datetime import datetime

    if not stamp:
        raise ConfigError("the sandbox has no end; say for how many seconds it is to live")
    text = re.sub(r"\.(\d{6})\d*", r".\1", stamp).replace("Z", "+00:00")
    return datetime.fromisoformat(text).timestamp()
