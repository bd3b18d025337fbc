"""Runs one call of an exposed function and says what came out."""

import inspect
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional

from . import values
from .connection import Call
from .describe import is_async, signature_of
from .errors import CallErrorDict, call_error, from_exception
from .gate import Gate, Interrupted
from .load import Interface
from .scrub import Scrubber

if TYPE_CHECKING:
    from .loop import Loop

_ID = json.JSONEncoder(ensure_ascii=True).encode


class Answer(NamedTuple):
    header: bytes
    body: bytes


class Caller:
    """Calls the functions of an interface in the main thread."""

    def __init__(self, interface: Interface, gate: Gate, scrubber: Scrubber) -> None:
        self._interface, self._gate, self._scrubber = interface, gate, scrubber
        self._functions = dict(interface.registry.functions)
        self._loop = _new_loop() if any(map(is_async, self._functions.values())) else None

    def answer(self, call: Call) -> Answer:
        """Runs the call. Whatever the function does, short of ending the process, becomes an answer."""
        try:
            encoded = self._gate.run(call, lambda: self._run(call))
        except BaseException as e:
            return self._error(call, self._failure(call, e))
        tagged = b',"tagged":true}' if encoded.tagged else b"}"
        return Answer(b'{"t":"result","id":' + _ID(call.id).encode() + tagged, encoded.data)

    def cancelled(self, call: Call) -> Answer:
        """The answer to a call that was cancelled before its turn came."""
        return self._error(call, call_error("cancelled", "the call was cancelled before it began"))

    def _run(self, call: Call) -> values.Encoded:
        function = self._functions.get(call.function)
        if function is None:
            raise _Refused(call_error("unknown_function", "there is no function %r; exposed are: %s"
                                      % (call.function, ", ".join(self._functions))))
        if call.unreadable:
            message = "the arguments of %s cannot be read: %s" % (call.function, call.unreadable)
            raise _Refused(call_error("bad_arguments", message, "ValueError"))
        args, kwargs = call.args, call.kwargs
        try:
            result = function(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = self._await(result)
        except TypeError as e:
            misfit = _misfit(function, args, kwargs)
            if misfit is None:
                raise
            raise _Refused(call_error("bad_arguments", "%s: %s" % (call.function, misfit), "TypeError")) from e
        return values.encode(result, self._scrubber.text, self._scrubber.escaped)

    def _await(self, coroutine: Any) -> Any:
        if self._loop is None:
            self._loop = _new_loop()
        return self._loop.run(coroutine)

    def _failure(self, call: Call, e: BaseException) -> CallErrorDict:
        script = self._interface.script
        if isinstance(e, _Refused):
            return e.error
        if isinstance(e, values.Unserialisable):
            return call_error("unserialisable", e.at("result"), "TypeError")
        if isinstance(e, Interrupted) and e.reason == "timeout":
            message = "%s took longer than the %g seconds that the caller allowed" % (call.function, call.timeout)
            return call_error("timeout", message, "TimeoutError", script.traceback(e))
        if isinstance(e, Interrupted):
            return call_error("cancelled", "the call of %s was cancelled" % call.function)
        if isinstance(e, SystemExit):
            message = "%s called exit(%s); the service goes on" % (call.function, "" if e.code is None else repr(e.code))
            return call_error("exited", message, "SystemExit", script.traceback(e))
        return from_exception("raised", e, script)

    def _error(self, call: Call, error: CallErrorDict) -> Answer:
        header = {"t": "error", "id": call.id, "error": self._scrubber.tree(error)}
        try:
            return Answer(json.dumps(header, ensure_ascii=False).encode("utf-8"), b"")
        except UnicodeEncodeError:
            return Answer(json.dumps(header).encode("ascii"), b"")


def _new_loop() -> "Loop":
    from .loop import Loop  # asyncio is half of all that would be imported, and most interfaces do without
    return Loop()


class _Refused(Exception):
    def __init__(self, error: CallErrorDict) -> None:
        super().__init__(error["message"])
        self.error = error


def _misfit(function: Callable[..., Any], args: Any, kwargs: Dict[str, Any]) -> Optional[str]:
    """Why the arguments do not fit the signature, naming the parameter; None if they do, or nobody can tell."""
    signature = signature_of(function)
    if signature is None:
        return None
    try:
        signature.bind(*args, **kwargs)
        return None
    except TypeError as e:
        reason = str(e)
    parameters = signature.parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        unknown = [k for k in kwargs if k not in known]
        if unknown:
            takes = "it takes " + str(signature) if signature.parameters else "it takes no arguments"
            return "there is no parameter %r; %s" % (unknown[0], takes)
    return "%s; it takes %s" % (reason, signature)
