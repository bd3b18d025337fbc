"""Child processes of a call: finding them, and ending them when it is cancelled."""

from .context import Scope

GRACE = 2.0  # seconds between TERM and KILL


def install() -> None:
    """Marks what os.fork, os.posix_spawn and subprocess start with the call that starts it. Once, in the worker."""
    raise NotImplementedError


def find(scope: Scope) -> "list[int]":
    """The living processes that the call has started, and what these have started."""
    raise NotImplementedError


def end(scope: Scope, grace: float = GRACE) -> int:
    """Ends them: TERM, after the grace KILL. Returns how many there were; waits until they are gone."""
    raise NotImplementedError


def end_soon(scope: Scope, grace: float = GRACE) -> None:
    """The same in a thread of its own, if there are any. Leaves processes of other calls alone, also those of later ones."""
    raise NotImplementedError
