"""Errors of the package, by kind."""

from __future__ import annotations

import builtins

TYPE_CHECKING = False  # everything imports this module, so it imports nothing: see _lazy
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._engine import wire


class Error(Exception):
    """The base of all errors of this package.

    ``kind`` is the engine's name of the kind, such as ``"provider"``. ``remedies`` say what helps,
    in a form for programs.
    """

    def __init__(self, message: str, kind: str = "", remedies: Optional[list[dict[str, Any]]] = None):
        super().__init__(message)
        self.kind = kind
        self.remedies = remedies or []

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows, of which the last frame is the caller's line."""
        import sys
        from types import TracebackType

        frames = []
        place = self.__traceback__
        while place is not None:
            frames.append(place)
            place = place.tb_next
        while frames and frames[-1].tb_frame.f_locals.get("__tracebackhide__"):
            frames.pop()
        shown = None
        for frame in reversed(frames):
            shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
        shell = sys.modules["IPython"].get_ipython()
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, shown)
        return lines


class Problem:
    """One mistake in a configuration: the field, what is wrong with it, and what to do.

    ``file`` and ``line`` say where it is in an experiment file; they are empty and 0 elsewhere.
    """

    def __init__(self, field: str, message: str, hint: str = "", file: str = "", line: int = 0):
        self.field, self.message, self.hint, self.file, self.line = field, message, hint, file, line

    def __repr__(self) -> str:
        return f"Problem({self.field!r}, {self.message!r}, {self.hint!r})"

    def __str__(self) -> str:
        text = f"{self.field}: {self.message}" if self.field else self.message
        if self.file:
            text = f"{self.file}:{self.line}: {text}" if self.line else f"{self.file}: {text}"
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(Error, ValueError):
    """The configuration cannot work. ``problems`` has all mistakes."""

    def __init__(self, message: str, problems: Optional[list[Problem]] = None, **more: Any):
        self.problems = problems or []
        super().__init__("\n".join(map(str, self.problems)) or message, **{"kind": "config", **more})


class NotFoundError(Error, LookupError):
    """The sandbox, service, file or plugin does not exist."""


class ConflictError(Error):
    """A name or port is taken, or the object is in another state."""


class PluginError(Error):
    """A plugin is missing, broken or misbehaves."""


class ProviderError(Error):
    """Seer could not get the machine, or lost it."""


class UnauthorizedError(Error):
    """A token or credential is missing or was refused."""


class UntrustedError(Error):
    """Nobody has confirmed what the experiment does, or who made a plugin."""


class UnsupportedError(Error):
    """This version, or this backend, cannot do it."""


class ServiceError(Error):
    """An interface could not be loaded. The message has its traceback."""


class NoSpaceError(Error):
    """A disk is full."""


class CancelledError(Error):
    """The work was cancelled."""


class TimeoutError(Error, builtins.TimeoutError):
    """A deadline passed."""


class EngineError(Error):
    """The engine itself failed: its program is missing, too old, or ended in the middle."""


_KINDS: dict[str, type[Error]] = {
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "plugin": PluginError,
    "provider": ProviderError,
    "unauthorized": UnauthorizedError,
    "untrusted": UntrustedError,
    "unsupported": UnsupportedError,
    "service": ServiceError,
    "no_space": NoSpaceError,
    "cancelled": CancelledError,
    "timeout": TimeoutError,
}


def of_answer(message: str, data: Optional[wire.ErrorData]) -> Error:
    """The exception for an error of the engine."""
    if data is None:
        return Error(message)
    kind = data["kind"]
    remedies = [dict(r) for r in data.get("remedies") or ()]
    problems = [
        Problem(_field(p["path"]), p["message"], p.get("hint", ""), p.get("file", ""), p.get("line", 0))
        for p in data.get("problems") or ()
    ]
    if kind == "config":
        return ConfigError(message, problems, remedies=remedies)
    return _KINDS.get(kind, Error)("\n".join(map(str, problems)) or message, kind, remedies)


def _field(path: str) -> str:
    """The field as a program of Python has it: sandbox.models.0.name is models[0].name."""
    parts = [p for p in path.split(".") if p]
    if parts[:1] == ["sandbox"]:
        parts = parts[1:]
    text = ""
    for part in parts:
        text += f"[{part}]" if part.isdigit() else ("." if text else "") + part
    return text
