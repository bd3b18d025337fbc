"""The event loop of async functions. One for the life of the worker, so that what they keep stays usable."""

import asyncio
from typing import Any, Coroutine


class Loop:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs it to its end. What it started in the background goes on during the next call of an async function."""
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # interrupted from outside of it
                task.cancel()
                self._loop.run_until_complete(asyncio.wait([task]))
            raise
