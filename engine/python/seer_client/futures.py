"""What a call may be besides its result: a stream, something to come back to, something to await."""

import contextvars
import time
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List

from .call import Call
from .codec import Aborted
from .errors import SeerError, UnknownCall
from .settings import Options

_ENDED = ("done", "failed", "cancelled", "interrupted")
_THREAD_SECONDS = 10.0  # an idle thread waits so long for another job


class Stream(Iterator[Any]):
    """The items of a generator in the sandbox, as they are made. Closing it, or dropping it, cancels the call."""

    def __init__(self, call: Call, begin: bool = True) -> None:
        self._call, self._over = call, False
        if begin:
            call.begin()

    @property
    def id(self) -> str:
        """The call's name."""
        return self._call.id

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        call = self._call
        call.used = call.next - 1
        try:
            event = call.event()
            value = call.client.read(event)
        except SeerError as e:
            self.close()
            raise e.with_traceback(None) from e.__cause__  # as in Library.call
        except BaseException:
            self.close()
            raise
        if event.kind == "item":
            return value
        self._over = True
        raise StopIteration(value)

    def close(self) -> None:
        """Ends the generator in the sandbox."""
        self._over = True
        self._call.give_up()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_over", True):
            self.close()


class Threads:
    """Threads that run what an event loop must not wait for. They do not keep the program alive."""

    def __init__(self) -> None:
        self._idle: List[Any] = []  # queues

    def run(self, job: Callable[[], None]) -> None:
        """Runs it in a thread of its own."""
        try:
            self._idle.pop().put(job)
        except IndexError:
            import queue  # few programs need them
            import threading
            jobs: Any = queue.SimpleQueue()
            jobs.put(job)
            threading.Thread(target=self._work, args=(jobs,), name="seer-call", daemon=True).start()

    def _work(self, jobs: Any) -> None:
        import queue
        while True:
            try:
                jobs.get(timeout=_THREAD_SECONDS)()
            except queue.Empty:
                try:
                    self._idle.remove(jobs)
                    return
                except ValueError:
                    continue  # somebody has just chosen it
            self._idle.append(jobs)


async def awaited(call: Call, step: Callable[[], Any]) -> Any:
    """What step, which follows the call, returns. Cancelling the task gives the call up."""
    import asyncio
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: Any) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def job() -> None:
        outcome: Any = None
        try:
            outcome = (context.run(step), None)
        except Aborted:
            outcome = (None, call.cancelled())
        except BaseException as e:
            outcome = (None, e)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            pass  # the loop has ended

    call.client.threads.run(job)
    try:
        return await future
    except asyncio.CancelledError:
        call.wake()
        raise


class AsyncStream(AsyncIterator[Any]):
    """The same as Stream, for `async for`. It begins with the first item that is asked for."""

    def __init__(self, call: Call) -> None:
        self._call, self._stream, self._over = call, Stream(call, begin=False), False

    @property
    def id(self) -> str:
        """The call's name."""
        return self._call.id

    def __aiter__(self) -> "AsyncStream":
        return self

    async def __anext__(self) -> Any:
        found = () if self._over else await awaited(self._call, self._step)
        if not found:
            self._over = True
            raise StopAsyncIteration
        return found[0]

    def _step(self) -> Any:
        for item in self._stream:
            return (item,)
        return ()

    async def aclose(self) -> None:
        """Ends the generator in the sandbox."""
        self._over = True
        await awaited(self._call, self._stream.close)

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class PendingCall:
    """A call that goes on by itself. Any process with the same connection file can come back to it by its id.

    Its answer is kept for some time after its end (10 minutes, unless the service says otherwise), however often it is asked for.
    """

    def __init__(self, client: Any, call_id: str, fn: str, output: Any = True) -> None:
        self._client, self.id, self._fn, self._output = client, call_id, fn, output
        self._answer: Any = None

    def info(self) -> Dict[str, Any]:
        """What the sandbox knows of it: state, position in the queue, times (docs/protocol.md: CALL)."""
        found: List[Dict[str, Any]] = self._client.calls(self.id)
        if not found:
            raise UnknownCall("unknown_call", "the sandbox knows no call %s, or does not keep its answer any more" % self.id)
        self._fn = self._fn or str(found[0].get("function", ""))
        return found[0]

    def state(self) -> str:
        """queued, running, done, failed, cancelled or interrupted."""
        return str(self.info().get("state"))

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._answer is not None or self.state() in _ENDED

    def result(self, timeout: "float | None" = None) -> Any:
        """Waits for the result; of a generator, the list of its items. A TimeoutError after timeout seconds; the call goes on."""
        if self._answer is None:
            self._answer = self._wait(timeout)
        value, error = self._answer
        if error is not None:
            raise error.with_traceback(None)  # as in Library.call
        return value

    def _wait(self, timeout: "float | None") -> Any:
        call = self._call()
        items: List[Any] = []
        if timeout is not None:
            call.deadline = call.until = time.monotonic() + timeout
        return self._outcome(call, items)

    def _outcome(self, call: Call, items: List[Any]) -> Any:
        event = call.event()
        while event.kind == "item":
            items.append(self._client.read(event))
            call.used = call.next - 1
            event = call.event()
        try:
            value = self._client.read(event)
        except Exception as e:
            return None, e
        return (items if items else value), None

    def _call(self) -> Call:
        call = Call(self._client, self._fn or "call " + self.id, self.id, Options(output=self._output))
        call.attach = call.known = True
        return call

    def __iter__(self) -> Stream:
        """The items of a generator, from the first on, as they come."""
        return Stream(self._call())

    def __await__(self) -> Any:
        call = self._call()

        def step() -> Any:
            self._answer = self._answer or self._outcome(call, [])
            return self.result()

        return awaited(call, step).__await__()

    def cancel(self) -> None:
        """Ends the call wherever it is."""
        self._client.request("DELETE", "calls/" + self.id)

    def __repr__(self) -> str:
        return "<PendingCall %s%s>" % (self.id, " of " + self._fn if self._fn else "")

    def __reduce__(self) -> Any:
        return PendingCall, (self._client, self.id, self._fn)
