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

    def _repr_html_(self) -> str:
        from .._engine import html

        ended = f"{self.exit_code}, after its timeout" if self.timed_out else str(self.exit_code)
        cut = "more output was not kept" if self.truncated else ""
        return html.table(("Exit code", ended), ("Output", self.stdout), ("Errors", self.stderr), ("Note", cut))


class CommandError(Error):
    """A command that ran with ``check=True`` failed. ``result`` is its ExecResult."""

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

    def _repr_html_(self) -> str:
        from .._engine import html

        kind = f"adapter of {self.base_model}" if self.is_peft else ""
        hidden = "its name, from the agent" if self.hidden else ""
        return html.table(("Model", self.name), ("Path", self.path), ("Variable", self.var_name), ("Kind", kind), ("Hidden", hidden))


@dataclass(frozen=True)
class Snapshot:
    """A saved sandbox."""

    name: str
    id: str
    description: str

    def _repr_html_(self) -> str:
        from .._engine import html

        return html.table(("Snapshot", self.name), ("ID", self.id), ("Description", self.description))
