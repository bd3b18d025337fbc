"""What a call prints: it goes to the log as ever, and to the call's followers as it comes."""

from typing import Any, Callable, Iterable

from .context import Scope

Sink = Callable[[int, str], None]  # 1 stdout, 2 stderr; the text, scrubbed. Called from any thread, one at a time for a capture


class Output:
    """Takes the place of sys.stdout and sys.stderr; before the interface is loaded, for it may keep them."""

    def __init__(self, scrub: Callable[[str], str] = str, secrets: Iterable[str] = ()) -> None:
        """scrub is Scrubber.text; secrets are the values, so that one which comes in pieces is found, too."""
        raise NotImplementedError

    def install(self) -> None:
        """Replaces the two streams."""
        raise NotImplementedError

    def restore(self) -> None:
        """Undoes install."""
        raise NotImplementedError

    def begin(self, scope: Scope, sink: Sink) -> None:
        """From now on, what code of the scope (context.enter) prints is given to the sink, some 20 ms later."""
        raise NotImplementedError

    def end(self, scope: Scope) -> None:
        """Gives the sink the rest, in this thread. After it the sink is not called any more."""
        raise NotImplementedError
