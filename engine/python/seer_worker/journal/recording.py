"""Whether the journal is being recorded: somebody takes all of it. docs/protocol.md, 7."""

import time


class Recording:
    """True while it is. Thread-safe."""

    def __init__(self, always: bool = False) -> None:
        self._always, self._until = always, 0.0

    def prolong(self, seconds: float) -> None:
        """For so long from now, at least."""
        if seconds > 0:
            self._until = max(self._until, time.monotonic() + seconds)

    def __bool__(self) -> bool:
        return self._always or self._until > 0 and time.monotonic() < self._until
