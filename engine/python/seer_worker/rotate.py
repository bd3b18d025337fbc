"""What a worker does that finds itself to be a copy: its calls, their names and its random numbers were another one's."""

import os
import sys
from typing import Any

from .journal.journal import Journal
from .transport.errors import call_error

_WHY = "the call of %s was another sandbox's, of which this one is a copy; it did not go on here"


def reseed() -> None:
    """Random numbers go on from the kernel's, in every library that is loaded. Generators that code has made itself stay as they are."""
    modules = sys.modules
    if "random" in modules:
        modules["random"].seed()
    for name, seed in (("numpy.random", "seed"), ("torch", "seed")):
        try:
            getattr(modules[name], seed)()
        except Exception:  # it is not there, or half imported
            pass
    if "ssl" in modules:
        modules["ssl"].RAND_add(os.urandom(64), 64.0)


def begin_anew(scheduler: Any, journal: Journal) -> None:
    """With the lock of the scheduler: what waits and runs is interrupted, and no name of a call is known but those."""
    reseed()
    calls = list(scheduler.calls.values())
    journal.renew()
    for call in calls:
        error = call_error("interrupted", _WHY % call.fn)
        waited = call.state == "queued"
        journal.started(call.id, call.fn, call.token, call.client)
        journal.error(call.id, call.last + 1, error)
        if waited:
            scheduler.send_away(call, error)
        else:
            scheduler.stop(call, "cancelled")
