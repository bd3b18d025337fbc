"""Runs calls: from their arguments to the answer that is in the journal."""

import inspect
import os
import time
import types
from functools import partial
from typing import Any, Callable, NamedTuple, Sequence, Tuple, Union

from .. import values
from ..calls.calls import Call, is_seconds
from ..calls.queues import Function
from ..handles.handles import HandleGone, size_of
from ..process import context
from ..process.context import Scope
from ..process.interrupts import Interrupts
from ..process.threads import ThreadInterrupts
from ..schema.validate import BadArguments
from ..transport.errors import call_error
from ..transport.frames import load_json
from .answers import Answers, Parts, lends
from .failures import Failures, Refusal
from .streams import Streams

AnyInterrupts = Union[Interrupts, ThreadInterrupts]
_ORDINARY = frozenset((type(None), bool, int, float, str, bytes, list, dict, tuple))  # no generators, nothing to wait for


class Prepared(NamedTuple):
    """A function and what it is called with."""

    function: Function
    args: Sequence[Any]
    kwargs: Any


class Runner:
    """One run at a time for each thread that uses it."""

    def __init__(self, parts: Parts, failures: Failures, wait: Callable[[Any], Any]) -> None:
        """wait runs a coroutine to its end, for the main thread and others that run functions which are not async."""
        self._parts, self.wait = parts, wait
        self._scheduler, self._journal, self._limits = parts.scheduler, parts.journal, parts.limits
        self._answers = answers = Answers(parts, failures)
        self.answer, self.fail, self.unmeter, self.end_capture = answers.answer, answers.fail, answers.unmeter, answers.end_capture
        self.streams = Streams(parts.scheduler, parts.journal, parts.delivery, parts.table, self.encode)
        self._process = os.getpid()

    # --- one call

    def perform(self, call: Call, interrupts: AnyInterrupts) -> None:
        """Runs a call that is not a batch. Whatever the function does, short of ending the process, becomes an answer."""
        token = self.open(call, partial(interrupts.interrupt, call))
        try:
            prepared = interrupts.run(call, self.prepare, call)
            self.admit(call, prepared)
            encoded = interrupts.run(call, self._run, call, prepared, interrupts)
        except BaseException as e:
            self.same_process()
            context.leave(token)
            self.fail(call, e)
        else:
            self.same_process()
            context.leave(token)
            self.answer(call, encoded)

    def open(self, call: Call, stop: Callable[[str], None]) -> Any:
        """The beginning of a run; stop interrupts it. The answer is for context.leave, in this thread or task."""
        call.scope = scope = Scope(call.id)
        call.began = time.monotonic()
        with self._scheduler.lock:
            call.stop = stop
            if call.reason:  # it was stopped on its way here
                stop(call.reason)
        return context.enter(scope)

    def same_process(self) -> None:
        """Ends a child that the function has forked, and that comes back from it."""
        if os.getpid() != self._process:
            os._exit(0)

    def prepare(self, call: Call) -> Prepared:
        """Reads and checks the arguments."""
        function = self._parts.table.functions.get(call.fn)
        if function is None:  # a reload has taken it away
            raise Refusal(call_error("unknown_function", "there is no function %r; exposed are: %s"
                                     % (call.fn, self._parts.table.exposed(partial(self._limits.allows, call.token))), "LookupError"))
        try:
            args, kwargs = self._read(call)
            if function.binder is None:
                return Prepared(function, (call.token, *args), kwargs)
            return Prepared(function, *function.binder.bind(args, kwargs))
        except BadArguments as e:
            raise Refusal(call_error("bad_arguments", str(e), "TypeError")) from e
        except RecursionError:
            raise Refusal(call_error("bad_arguments", "the arguments of %s are nested too deeply" % call.fn, "ValueError")) from None

    def _read(self, call: Call) -> Tuple[Sequence[Any], Any]:
        try:
            parts = call.parts()
            body = load_json(parts[0])
            call.body = b""
            if type(body) is not dict or type(body.get("args", [])) is not list or type(body.get("kwargs", {})) is not dict:
                raise ValueError("they must be an object with the list args and the object kwargs")
            args, kwargs = body.get("args", []), body.get("kwargs", {})
            if "tagged" in body or "timeout_seconds" in body:
                _beside(call, body)
            if call.tagged or len(parts) > 1:
                handle = partial(self._handle, call.token)
                args = [values.untag(v, parts, handle, True) for v in args]
                kwargs = {k: values.untag(v, parts, handle, True) for k, v in kwargs.items()}
            return args, kwargs
        except ValueError as e:
            raise Refusal(call_error("bad_arguments", "the arguments of %s cannot be read: %s" % (call.fn, e), "ValueError")) from None
        except HandleGone as e:
            raise Refusal(call_error("handle_gone", str(e), "LookupError")) from None

    def _handle(self, token: str, info: Any) -> Any:
        id = info.get("id") if isinstance(info, dict) else None
        if not isinstance(id, str):
            raise ValueError("a handle needs its id")
        return self._parts.handles.value(id, token)

    def admit(self, call: Call, prepared: Prepared, capture: bool = True) -> None:
        """The last that happens before the function runs: limits, and the record that it has begun."""
        self._answers.own_lent()
        call.began = now = time.monotonic()
        call.started_at = time.time()
        binder, left = prepared.function.binder, None
        limit, call.limit = call.timeout, "caller"
        if binder is not None:
            arguments = {} if call.token == "main" else binder.bounded(prepared.args, prepared.kwargs)
            left = self._limits.begin(call.token, call.fn, arguments, binder.open)
            call.metered = True
            if prepared.function.options.timeout and not 0 < limit <= prepared.function.options.timeout:
                limit, call.limit = prepared.function.options.timeout, "function"
        if left is not None and not 0 < limit <= left:
            limit, call.limit = left, "token"
        self._journal.started(call.id, call.fn, call.token, call.client)
        self._answers.gpus.begin(call.id)
        if limit or left is not None:
            call.deadline = now + limit
            self._scheduler.poke()
        if capture and call.scope is not None and self.captures(call):
            self.capture(call.scope, [call])

    def captures(self, call: Call) -> bool:
        """Whether anybody wants to know what it prints."""
        return call.output or bool(self._parts.record)

    def capture(self, scope: Scope, calls: Sequence[Call]) -> None:
        """What is printed there is an event of all the calls."""
        self._parts.output.begin(scope, partial(self.streams.printed, calls))

    def _run(self, call: Call, prepared: Prepared, interrupts: AnyInterrupts) -> values.Encoded:
        result = prepared.function.call(*prepared.args, **prepared.kwargs)
        if type(result) in _ORDINARY:
            pass
        elif isinstance(result, types.GeneratorType):
            result = self.streams.sync(call, result, interrupts)
        elif inspect.isasyncgen(result):
            result = self.wait(self.streams.asynchronous(call, result, interrupts))
        elif inspect.iscoroutine(result):
            result = self.wait(result)
        parts = self._parts  # a record is written to a file, and what is compressed is read, before it is sent
        return self.encode(call, result, lends(call, parts.table.alone) and not parts.record and not call.deflate)

    def encode(self, call: Call, result: Any, ahead: bool = False) -> values.Encoded:
        """The result, or its handle if it is to stay here. ahead: what comes from a GPU may still be on its way (Stager.arrival)."""
        above = call.handle_above
        if above is not None and size_of(result, int(above)) >= above and not hasattr(result, "__seer_handle__"):
            result = values.HandleRef(self._parts.handles.keep(result, call.token))
        stager = self._parts.stager
        return values.encode(result, self._parts.scrubber.value, self._parts.scrubber.escaped, stager.ahead if ahead else stager.fetch)


def _beside(call: Call, body: Any) -> None:
    """What came in by HTTP as JSON may have some options beside its arguments."""
    call.tagged = call.tagged or body.get("tagged") is True
    seconds = body.get("timeout_seconds")
    if seconds and not call.timeout:
        if not is_seconds(seconds):
            raise ValueError("timeout_seconds must be a number of seconds")
        call.timeout = seconds
