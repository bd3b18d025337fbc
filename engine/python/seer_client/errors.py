"""Calls the functions of a service in a Seer sandbox. One file, standard library only, Python 3.8 or newer.

A generated library is a package with this file in it as _client.py and the connection file beside it:

    model_tools/
        __init__.py         the functions
        __init__.pyi        the same for type checkers
        _client.py          this file
        connection.json     where the service is, and a token that can call it and nothing else

Importing the package connects to nothing. The connection file is read again for each new connection, so a sandbox
that has moved needs no new library. docs/library.md tells how it is used; what is called is

    Client          calls by name, for who writes no library: Client("connection.json").call("embed", ("text",))
    Library         what a generated __init__.py is made with
    Stream          what comes of a generator
    PendingCall     a call that nobody waits for yet, and that any process may ask for
    Handle          a value that stays in the sandbox

Errors:

    SeerError
        CallError           the function failed; .code, .remote_type, .remote_traceback. Raised as a subclass of the
                            builtin that the function raised, so that `except ValueError` works
            BadArguments    the arguments do not fit the signature, or cannot be sent; also a TypeError
            CallTimeout     it took longer than `timeout`; also a TimeoutError
            Cancelled       somebody cancelled it
            Refused         the token's limits forbid it, and it did not run; also a PermissionError
            HandleGone      a handle was released, has expired, or its worker is gone; also a LookupError
            UnknownCall     nothing is known, or kept, of a call of this name; also a LookupError
            Busy            the queue is full; it did not run and may be made again
        Interrupted         nobody knows how far the call came: the worker or the machine died. It is never repeated
        Unreachable         the service cannot be reached, and the call has not been started; also a ConnectionError

A call has a name. A connection that is cut is made again, and the call is asked for by its name: it runs once, however
often it is asked for, and goes on meanwhile. Ctrl-C, or any other exception in the caller, cancels it in the sandbox.

A client may be shared by threads: each call has a connection of its own, which is kept for the next one. For https://,
certificates are checked against those of the system; SSL_CERT_FILE names others.
"""

import builtins
import functools
from typing import Any, Dict, Tuple, Type

__all__ = [  # noqa: F822 - of the whole file
    "BadArguments", "Busy", "CallError", "CallTimeout", "Cancelled", "Client", "Handle", "HandleGone", "Interrupted",
    "Library", "PendingCall", "Refused", "SeerError", "Stream", "UnknownCall", "Unreachable",
]


class SeerError(Exception):
    """Everything that this module raises."""


class Unreachable(SeerError, ConnectionError):
    """The service cannot be reached; the call has not been started."""


class Interrupted(SeerError):
    """The call may have had effects, and has no result."""


class _RemoteTraceback(Exception):
    """Shows the traceback of the sandbox above the local one."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "in the sandbox\n" + self.text.rstrip()


class CallError(SeerError):
    """The call failed in the sandbox."""

    def __init__(self, code: str, message: str, remote_type: str = "", remote_traceback: str = "") -> None:
        # The other base may be a builtin with an __init__ of its own, which does not take this.
        self.args = (message,)
        self.code, self.remote_type, self.remote_traceback = code, remote_type, remote_traceback
        if remote_traceback:
            self.__cause__ = _RemoteTraceback(remote_traceback)

    def __str__(self) -> str:
        message = str(self.args[0])
        shown = self.code != "raised" or type(self).__name__ == "Remote" + self.remote_type
        return message if shown else "%s: %s" % (self.remote_type, message)

    def __reduce__(self) -> Tuple[Any, ...]:
        return call_error, (self.code, self.args[0], self.remote_type, self.remote_traceback)


class BadArguments(CallError, TypeError):
    """The arguments do not fit the signature, or cannot be sent."""


class CallTimeout(CallError, TimeoutError):
    """The call took longer than its timeout, and was stopped."""


class Cancelled(CallError):
    """The call was cancelled: by another process, or because nobody waited for it any more."""


class Refused(CallError, PermissionError):
    """The limits of the token forbid the call; it did not run."""


class HandleGone(CallError, LookupError):
    """The value of a handle is not in the sandbox any more."""


class UnknownCall(CallError, LookupError):
    """Nothing is known of a call of this name, or its answer is not kept any more."""


class Busy(CallError):
    """Too many calls wait, or the sandbox cannot write its journal. It did not run and may be made again."""


_BY_CODE: Dict[str, Type[CallError]] = {
    "bad_arguments": BadArguments, "timeout": CallTimeout, "cancelled": Cancelled, "refused": Refused, "handle_gone": HandleGone,
    "unknown_call": UnknownCall, "busy": Busy,
}


def call_error(code: str, message: str, remote_type: str = "", remote_traceback: str = "") -> SeerError:
    """The exception for an error of the sandbox."""
    if code == "interrupted":
        return Interrupted(message)
    found = _class_for(remote_type) if code == "raised" else _BY_CODE.get(code, CallError)
    return found(code, message, remote_type, remote_traceback)


@functools.lru_cache(maxsize=None)
def _class_for(name: str) -> Type[CallError]:
    base = getattr(builtins, name, None)
    if not isinstance(base, type) or not issubclass(base, Exception) or base is Exception:
        return CallError
    if issubclass(base, (StopIteration, StopAsyncIteration)) or hasattr(base, "derive"):
        return CallError  # they would mean something to the caller's loops; exception groups need their parts
    return type("Remote" + name, (CallError, base), {"__doc__": "A %s that was raised in the sandbox." % name})


def error_of(error: Any) -> SeerError:
    """The exception for a CALL_ERROR (docs/protocol.md, section 2)."""
    if not isinstance(error, dict):
        return SeerError("the sandbox answered with an error that cannot be read")
    fields = (error.get("code"), error.get("message"), error.get("type"), error.get("traceback"))
    return call_error(*(f if isinstance(f, str) else "" for f in fields))
