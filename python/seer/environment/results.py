"""Results of the methods of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..errors import Error


@dataclass(frozen=True)
class ExecResult:
    """The result of a command. A command that fails raises an exception only with ``check``."""

    exit_code: int  #: 128 plus the number of a signal
    stdout: str
    stderr: str
    truncated: bool = False  #: the output exceeded the limit (10 MiB each)
    timed_out: bool = False

    def __str__(self) -> str:
        return self.stdout


class CommandError(Error):
    """A command that was to succeed failed. ``result`` is how."""

    def __init__(self, command: str, result: ExecResult):
        self.result = result
        said = (result.stderr or result.stdout).strip()[-2000:]
        super().__init__(f"{command!r} ended with {result.exit_code}" + (":\n" + said if said else ""), "call")


@dataclass(frozen=True)
class ModelHandle:
    """A model in the sandbox."""

    name: str  #: as it was configured
    path: str  #: folder in the sandbox
    var_name: str  #: variable of the notebook or interpreter
    hidden: bool
    is_peft: bool
    base_model: Optional[str]


@dataclass(frozen=True)
class Snapshot:
    """A saved sandbox."""

    name: str
    id: str
    description: str
