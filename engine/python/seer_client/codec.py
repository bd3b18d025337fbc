"""What goes into a call, what comes out beside its answer, and how long it is tried."""

import json
import sys
from typing import Any, Mapping, Sequence

from seer_worker.values import Unserialisable, encode

from .endpoint import NotThere, Rejected
from .errors import BadArguments, SeerError
from .settings import Output

RETRY_SECONDS = 20.0  # to get through on this machine, and while a worker is being started
FIRST_SECONDS = 30.0  # to get through at all


class Aborted(Exception):
    """Another thread has given the call up."""


def encoded_arguments(fn: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The VALUE of the arguments."""
    try:
        return encode({"args": args, "kwargs": kwargs})
    except Unserialisable as e:
        place, path = "arguments", e.path
        if len(path) > 1:
            name = path[1][1:-1]
            place = "argument number %d" % (int(name) + 1) if path[0] == '["args"]' else "argument " + name.strip('"')
            e.path = path[2:]
        raise BadArguments("bad_arguments", "the %s of %s cannot be sent: %s"
                           % (place, fn, e.at("it").replace("; return ", "; give "))) from None


def patience(e: Exception, begun: bool, local: bool, most: float) -> float:
    """For how many seconds without a sign of the call it is tried again after such a fault; local: on this machine."""
    if isinstance(e, Rejected):
        return 0.0
    if begun:
        return RETRY_SECONDS if local and isinstance(e, NotThere) else most
    return (0.0 if isinstance(e, NotThere) else RETRY_SECONDS) if local else min(most, FIRST_SECONDS)


def show(output: Output, stream: int, text: str) -> None:
    """Hands on what a function has printed."""
    if callable(output):
        output(stream, text)
        return
    target = sys.stdout if stream == 1 else sys.stderr
    if target is None:
        return
    try:
        try:
            target.write(text)
        except UnicodeEncodeError:
            code = getattr(target, "encoding", None) or "ascii"
            target.write(text.encode(code, "replace").decode(code))
        target.flush()
    except (OSError, ValueError):
        pass  # a closed stdout is no reason to lose the result


def read_json(data: bytes) -> Any:
    """An answer of the sandbox about calls."""
    try:
        return json.loads(data)
    except ValueError:
        raise SeerError("an answer of the sandbox cannot be read") from None
