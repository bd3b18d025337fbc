"""Functions that answer several calls in one run."""

import inspect
import time
from functools import partial
from typing import Any, Callable, List, Sequence, Tuple

from ..calls.calls import ENDED, RUNNING, Call
from ..calls.fair_queue import FairQueue
from ..calls.queues import Table
from ..calls.scheduler import Scheduler
from ..process import context
from ..process.context import Scope
from ..process.threads import ThreadInterrupts
from .runner import AnyInterrupts, Prepared, Runner

_NAP = 0.001


class Batch:
    """The calls of one run. Belongs to whoever has the service's lock."""

    def __init__(self, calls: Sequence[Call], scheduler: Scheduler, interrupts: AnyInterrupts) -> None:
        self.calls, self._scheduler, self._interrupts = list(calls), scheduler, interrupts
        self.scope = Scope(calls[0].id)

    def stop(self, call: Call, reason: str) -> None:
        """Answers one of several at once; the last one ends with the run."""
        if any(c.state == RUNNING and c is not call for c in self.calls):
            self._scheduler.leave_run(call, reason)
        else:
            call.scope = self.scope  # its child processes are those of the run
            self._interrupts.interrupt(self, reason)


class Batches:
    """Gathers calls and runs them together."""

    def __init__(self, scheduler: Scheduler, table: Table, runner: Runner, pump: Callable[[float], None]) -> None:
        """pump serves events for a while, in the main thread."""
        self._scheduler, self._table, self._runner, self._pump = scheduler, table, runner, pump

    def in_turn(self, call: Call, interrupts: AnyInterrupts) -> None:
        """In the main thread: a call whose turn has come, and those that go with it."""
        self._perform(self._gather(call, self._scheduler.waiting, self._pump), interrupts)

    def beside(self, call: Call, queue: "FairQueue[Call]") -> None:
        """The same in a thread of its own, of the calls that wait there."""
        self._perform(self._gather(call, queue, lambda seconds: time.sleep(min(seconds, _NAP))), ThreadInterrupts())

    def _gather(self, call: Call, queue: "FairQueue[Call]", wait: Callable[[float], None]) -> List[Call]:
        function = self._table.functions.get(call.fn)
        most, until = (function.options.batch, time.monotonic() + function.options.batch_wait) if function else (1, 0.0)
        calls = [call]
        while True:
            with self._scheduler.lock:
                more = queue.take(lambda c: c.fn == call.fn, most - len(calls))
                for c in more:
                    self._scheduler.begin(c)
                calls += more
            left = until - time.monotonic()
            if len(calls) >= most or left <= 0:
                return calls
            wait(left)

    def _perform(self, calls: List[Call], interrupts: AnyInterrupts) -> None:
        runner, batch = self._runner, Batch(calls, self._scheduler, interrupts)
        with self._scheduler.lock:
            for call in calls:
                call.began = time.monotonic()
                call.stop = partial(batch.stop, call)
                if call.reason and call.state != ENDED:
                    call.stop(call.reason)
        token = context.enter(batch.scope)
        ready: List[Tuple[Call, Prepared]] = []
        try:
            for call in calls:
                self._make_ready(call, batch, interrupts, ready)
            results = self._run(batch, ready, interrupts) if ready else []
        except BaseException as e:
            runner.same_process()
            self._close(batch)
            for call, _ in ready:
                runner.fail(call, e)
        else:
            self._close(batch)
            for (call, _), result in zip(ready, results):
                self._answer(call, result)
        finally:
            context.leave(token)
            for call in calls:
                runner.unmeter(call, time.monotonic() - call.began)

    def _make_ready(self, call: Call, batch: Batch, interrupts: AnyInterrupts, ready: List[Tuple[Call, Prepared]]) -> None:
        """One that does not fit is answered, and the others go on."""
        if call.state == ENDED:
            return
        try:
            prepared = interrupts.run(batch, self._runner.prepare, call)
            self._runner.admit(call, prepared, capture=False)
            ready.append((call, prepared))
        except BaseException as e:
            self._runner.fail(call, e)

    def _run(self, batch: Batch, ready: List[Tuple[Call, Prepared]], interrupts: AnyInterrupts) -> Sequence[Any]:
        function = ready[0][1].function
        wanted = [call for call, _ in ready if self._runner.captures(call)]
        if wanted:
            self._runner.capture(batch.scope, wanted)
        args, kwargs = function.binder.batch([(p.args, p.kwargs) for _, p in ready])  # type: ignore[union-attr]
        results: Sequence[Any] = interrupts.run(batch, self._invoke, function.call, args, kwargs)
        self._runner.same_process()
        if len(results) != len(ready):
            raise ValueError("%s was called for a batch of %d and returned %d results" % (function.name, len(ready), len(results)))
        return results

    def _invoke(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        results = function(*args, **kwargs)
        if inspect.iscoroutine(results):
            results = self._runner.wait(results)
        if not hasattr(results, "__len__") or not hasattr(results, "__getitem__") or isinstance(results, (str, bytes, dict)):
            raise TypeError("a batch function returns a list, with one result for each call, and not %s" % type(results).__name__)
        return results

    def _answer(self, call: Call, result: Any) -> None:
        try:
            encoded = self._runner.encode(call, result)
        except BaseException as e:
            self._runner.fail(call, e)
        else:
            self._runner.answer(call, encoded)

    def _close(self, batch: Batch) -> None:
        """What the run has printed comes before its answers."""
        self._runner.end_capture(batch.scope)

