"""One call, from its arguments to its answer, over as many connections as it takes."""

import os
import socket
import time
from typing import Any, List, Optional

from .codec import Aborted, patience, show
from .endpoint import Cut, NotReady, NotThere, Rejected
from .errors import CallTimeout, Cancelled, SeerError, error_of
from .framing import Event
from .settings import Options
from .socket_transport import state_of

GRACE_SECONDS = 10.0  # for the sandbox to say itself that a call timed out
_ENOUGH = 0.3  # the pause after a handful of tries: one that hung, for the machine was suspended, does not use up all patience
_PAUSE_SECONDS, _LONGEST_PAUSE = 0.02, 5.0  # before the second try; then twice as long each time
_NEVER_BEGUN = ("bad_arguments", "refused", "busy", "unknown_function", "handle_gone")


class Call:
    """Follows a call. Only wake() may come from another thread.

    What connections look at: id, fn, body, size, tagged, options; attach (it is another's, and never begun here), submit (nobody
    waits yet), next (the first event that is wanted), used (items up to there are used), sent (when first), begun (it may run),
    known (the sandbox has it), deadline (when something must have come), pieces and partial (large ones through tunnels).
    """

    attach = submit = begun = known = pieces = over = aborted = queued = doubted = False
    next, used, pause = 1, 0, 0.0
    sent: Optional[float] = None
    deadline: Optional[float] = None
    until: Optional[float] = None  # how long the caller waits, though the call goes on
    partial = link = info = _encoded = None  # type: Any
    body: List[Any] = []
    size, tagged = 0, False

    def __init__(self, client: Any, fn: str, call_id: str, options: Options, encoded: Any = None) -> None:
        self.client, self.fn, self.id, self.options = client, fn, call_id, options
        self.process = client.process if encoded is not None else os.getpid()
        self.heard = time.monotonic()
        if encoded is not None:
            self.tagged = encoded.tagged
            self.body = encoded.body()
            self.size = encoded.size if encoded.buffers else len(encoded.data)
            self._encoded = encoded
        if options.timeout is not None:
            self.deadline = self.heard + options.timeout + GRACE_SECONDS

    def compress(self) -> None:
        """The way is slow: what shrinks is sent smaller. A repeat sends the same."""
        encoded, self._encoded = self._encoded, None
        if encoded is not None:
            self.body = encoded.body(True)
            self.size = sum(map(len, self.body))

    def value(self) -> Any:
        """The result of a function that gives one."""
        event = self.event()
        while event.kind == "item":
            event = self.event()
        return self.client.read(event)

    def begin(self) -> None:
        """Sends the call, and waits for nothing but that."""
        while self.link is None and not self.over:
            try:
                self._join()
            except (Cut, NotThere, NotReady, Rejected) as e:
                self._again(e)
            except socket.timeout:
                self._silent()
            except BaseException:
                self.give_up()
                raise

    def accepted(self) -> None:
        """The sandbox has the call, which goes on by itself; raises where it does not begin at all."""
        link, self.link, self.over = self.link, None, True
        error = link.failed_at_once()
        self.client.keep(link)
        if error is not None and type(error) is dict and error.get("code") in _NEVER_BEGUN:
            raise error_of(error)

    def event(self) -> Event:
        """The next item, result or error. What comes before it is dealt with."""
        while True:
            try:
                if self.link is None:
                    self._join()
                event: Event = self.link.event(self)
                header = event.header
                if header.get("id") == self.id and self._concerns(event):
                    if event.kind != "item":
                        self._end(event)
                    return event
                if event.kind == "calls":
                    self._told(event)
            except (Cut, NotThere, NotReady, Rejected) as e:
                self._again(e)
            except socket.timeout:
                self._silent()
            except OSError as e:
                self._again(Cut(str(e)))
            except BaseException:
                self.give_up()
                raise

    def _join(self) -> None:
        """Finds a connection for the call, and makes it or asks for it there."""
        if os.getpid() != self.process:
            raise SeerError("a call cannot be followed in a process that was forked from the one that made it")
        client, link = self.client, None
        if self.sent is None:
            link = client.take(self)
        if link is None:
            self.info = client.info()
            link = client.connect(self.info, self)
        self.link = link
        if self.aborted:
            raise Aborted
        try:
            link.begin(self)
        except OSError as e:
            if isinstance(e, socket.timeout):
                raise
            raise Cut(str(e)) from None
        if self.sent is None:
            self.sent = time.monotonic()
        self.begun = True

    def _concerns(self, event: Event) -> bool:
        """Whether the caller wants to see it."""
        kind = event.kind
        if kind in ("queued", "waiting"):
            self._heard()
            self._waits(kind == "queued" or "position" in event.header)
            if self.deadline is not None and time.monotonic() > self.deadline:
                self._silent()
            return False
        if kind not in ("output", "item", "result", "error"):
            return False
        if kind == "error" and self._forgotten(event):
            raise Cut("the sandbox does not know the call")
        if kind in ("output", "item"):  # the end comes once, and counts whatever its number is
            n = event.header.get("n", 1)
            if type(n) is not int or n < self.next:
                return False  # it has come before
            self.next = n + 1
        self._heard()
        if self.queued:
            self._waits(False)
        if kind == "output":
            if self.options.output:
                show(self.options.output, event.header.get("stream", 1), str(event.body, "utf-8", "replace"))  # type: ignore[arg-type]
            return False
        return True

    def _heard(self) -> None:
        """There is a sign of the call: from here on, the patience with faults counts."""
        self.heard, self.pause = time.monotonic(), 0.0

    def _forgotten(self, event: Event) -> bool:
        """Whether the call has to be sent as a whole (again). The sandbox then sees by its age whether it may run."""
        error = event.header.get("error")
        if self.attach or type(error) is not dict or error.get("code") != "unknown_call":
            return False
        self.known = False
        return True

    def _end(self, event: Event) -> None:
        link, self.link, self.over = self.link, None, True
        try:
            if link.finish(self, len(event.body) if type(event.body) is bytes else sum(map(len, event.body))):
                self.client.keep(link)
                return
        except (Cut, OSError):
            pass
        link.close()

    # --- what may go wrong

    def _again(self, e: Exception) -> None:
        """Prepares another try, or raises where that has no sense any more."""
        link, self.link = self.link, None
        if link is not None:
            link.close()
        if self.aborted:
            self.give_up()
            raise Aborted
        info = self.info = self.info or self.client.info()
        now = time.monotonic()
        limit = patience(e, self.begun or self.attach and not isinstance(e, NotThere), info.local, self.client.patience)
        if self.until is not None and now > self.until:
            raise self._waited()
        if now + self.pause > self.heard + limit and (self.pause >= _ENOUGH or not limit):
            self.over = True
            raise (info.lost(self.fn, e) if self.begun and not isinstance(e, NotReady) else info.unreachable(e)) from None
        time.sleep(self.pause)
        self.pause = min(max(2 * self.pause, _PAUSE_SECONDS), _LONGEST_PAUSE)

    def _waits(self, queued: bool) -> None:
        """It is in the queue, or has left it: its time begins anew."""
        if self.queued or queued:
            self.queued, self.heard = queued, time.monotonic()
            if self.options.timeout is not None:
                self.deadline = self.heard + self.options.timeout + GRACE_SECONDS

    def _silent(self) -> None:
        """Nothing has come for as long as the call may take. That is all right in the queue, which is asked for."""
        now = time.monotonic()
        if self.until is not None and now >= self.until:
            self.give_up()
            raise self._waited()
        if self.doubted or not self.queued or self.link is None:
            self.give_up()
            raise CallTimeout("timeout", "%s did not end within %g seconds, and did not react to being stopped"
                              % (self.fn, self.options.timeout or 0))
        self.doubted, self.deadline = True, now + GRACE_SECONDS
        try:
            self.link.ask(self)
        except (Cut, OSError):
            pass  # it shows with the next event

    def _told(self, event: Event) -> None:
        self._heard()
        if not self.doubted:
            return
        body = event.body if type(event.body) is bytes else event.body[0]
        state = state_of(body, self.id)
        self.doubted = False
        self._waits(state is not None and state.get("state") == "queued")

    def _waited(self) -> TimeoutError:
        return TimeoutError("the call %s of %s has not ended yet; it goes on" % (self.id, self.fn))

    def wake(self) -> None:
        """Gives the call up from another thread."""
        self.aborted = True
        link = self.link
        if link is not None:
            link.wake()

    def give_up(self) -> None:
        """The caller waits no more: the call is cancelled, unless it was to go on by itself."""
        link, self.link = self.link, None
        if self.over or os.getpid() != self.process:
            return
        self.over = True
        try:
            if not (self.attach or self.options.detach) and (link is not None or self.begun):
                if link is None or not link.cancel(self):
                    if link is not None:
                        link.close()
                    if self.sent is not None:
                        self.client.cancel(self.id)
        finally:
            if link is not None:
                link.close()

    def cancelled(self) -> Cancelled:
        """For who still waits when another thread has given it up."""
        return Cancelled("cancelled", "the call of %s was given up" % self.fn)
