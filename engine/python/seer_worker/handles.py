"""Handles: results that stay in the worker. docs/protocol.md, section 8."""

import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .steps import StepError

__all__ = ["HandleGone", "Handles", "StepError", "size_of"]


class HandleGone(Exception):
    """The call error `handle_gone`; its text says why."""


def size_of(value: Any, enough: int = 1 << 62) -> int:
    """About how many bytes the value has on the wire (JSON and buffers); counting stops where enough is reached."""
    raise NotImplementedError


class Handles:
    """Thread-safe. token is whose call asks; None may use all."""

    FUNCTIONS = ("$handle.info", "$handle.get", "$handle.make", "$handle.release", "$handle.list")

    def __init__(self, limits: Optional[Mapping[str, Any]] = None, now: Callable[[], float] = time.monotonic) -> None:
        """limits: handle_seconds, handle_count, handle_bytes of LIMITS."""
        raise NotImplementedError

    def keep(self, value: Any, token: str) -> Dict[str, Any]:
        """Stores the value and gives HANDLE, for `{"$seer":{"handle":HANDLE}}`."""
        raise NotImplementedError

    def value(self, id: str, token: Optional[str]) -> Any:
        """The object itself, for an argument. HandleGone."""
        raise NotImplementedError

    def call(self, function: str, args: Sequence[Any], token: Optional[str]) -> Any:
        """Runs one of FUNCTIONS. HandleGone, StepError (`bad_arguments`). $handle.make and info give a Made."""
        raise NotImplementedError

    def info(self, id: str, token: Optional[str]) -> Dict[str, Any]:
        """HANDLE."""
        raise NotImplementedError

    def get(self, id: str, steps: Sequence[Any], token: Optional[str]) -> Any:
        """The value after the steps."""
        raise NotImplementedError

    def make(self, id: str, steps: Sequence[Any], token: Optional[str]) -> Dict[str, Any]:
        """HANDLE of the value after the steps."""
        raise NotImplementedError

    def release(self, ids: Sequence[str], token: Optional[str]) -> int:
        """How many of them there were."""
        raise NotImplementedError

    def list(self, token: Optional[str]) -> List[Dict[str, Any]]:
        """HANDLE of each, oldest first, without stats."""
        raise NotImplementedError

    def sweep(self) -> None:
        """Frees what has expired. Every other method does it, too; an idle worker may do it once a minute."""
        raise NotImplementedError
