"""What a caller is told when a call has no result."""

import json
import sys
from typing import Any, Dict

from .. import values
from ..calls.calls import Call
from ..handles.handles import HandleGone, StepError
from ..interface.scrub import Scrubber
from ..journal.journal import JournalFull
from ..policy.limits import Refused
from ..process.interrupts import Interrupted
from ..transport.errors import CallErrorDict, Script, call_error, from_exception

_CODES: "Dict[type, tuple[str, str]]" = {
    Refused: ("refused", "PermissionError"), JournalFull: ("busy", ""), HandleGone: ("handle_gone", "LookupError"),
    StepError: ("bad_arguments", "ValueError")}


class Refusal(Exception):
    """The call does not run; error says why."""

    def __init__(self, error: CallErrorDict) -> None:
        super().__init__(error["message"])
        self.error = error


class Failures:
    """Makes CALL_ERROR of whatever has been raised. script is set once the interface is loaded, and by a reload."""

    def __init__(self, scrubber: Scrubber) -> None:
        self.script = Script("", "", "")
        self._scrubber = scrubber

    def error(self, call: Call, e: BaseException) -> CallErrorDict:
        """Scrubbed, and such that it can be sent."""
        error: CallErrorDict = self._scrubber.tree(self._of(call, e))
        try:
            json.dumps(error, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            error = {k: v.encode("utf-8", "replace").decode("utf-8") for k, v in error.items()}
        return error

    def _of(self, call: Call, e: BaseException) -> CallErrorDict:
        if isinstance(e, Refusal):
            return e.error
        if isinstance(e, values.Unserialisable):
            return call_error("unserialisable", e.at("result"), "TypeError")
        if type(e) in _CODES:
            code, kind = _CODES[type(e)]
            return call_error(code, str(e), kind)
        if call.reason and isinstance(e, (Interrupted, _cancelled_error())):
            return self._interrupted(call, e)
        if isinstance(e, SystemExit):
            message = "%s called exit(%s); the service goes on" % (call.fn, "" if e.code is None else repr(e.code))
            return call_error("exited", message, "SystemExit", self.script.traceback(e))
        return from_exception("raised", e, self.script)

    def _interrupted(self, call: Call, e: BaseException) -> CallErrorDict:
        if call.reason != "timeout":
            return call_error("cancelled", "the call of %s was cancelled" % call.fn)
        return call_error("timeout", timeout_message(call), "TimeoutError", self.script.traceback(e))


def timeout_message(call: Call) -> str:
    """Whose limit a call has reached."""
    seconds = max(0.0, call.deadline - call.began)
    if call.limit == "token":
        return "%s was stopped after %.3g seconds: its token has spent all that it may" % (call.fn, seconds)
    who = "the caller" if call.limit == "caller" else "its @expose(timeout=…)"
    return "%s took longer than the %g seconds that %s allowed" % (call.fn, round(seconds, 6), who)


def _cancelled_error() -> Any:
    """CancelledError, without importing what nobody has needed."""
    asyncio = sys.modules.get("asyncio")
    return asyncio.CancelledError if asyncio is not None else Interrupted

