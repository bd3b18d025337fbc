"""What becomes due with time: deadlines, the end of patience, and news for those who wait."""

import time
from typing import Callable

from .calls.delivery import Post
from .calls.scheduler import TELL_AFTER, Desk
from .policy.limits import Limits

_TELL_EVERY = 1.0


class Clock:
    """Belongs to whoever has the service's lock."""

    def __init__(self, desk: Desk, limits: Limits, post: Post, sweep: Callable[[], None], alive: Callable[[], None]) -> None:
        """sweep is done once a minute, alive once a second while calls run whose time is counted."""
        self._desk, self._limits, self._post, self._sweep, self._alive = desk, limits, post, sweep, alive
        self._sweep_at = self._alive_at = 0.0

    def tick(self, now: float) -> float:
        """Does what is due, and tells after how many seconds to come again."""
        desk = self._desk
        wake = now + 60
        if now >= self._sweep_at:
            self._sweep_at = now + 60
            self._sweep()
        desk.take_over()
        if desk.running:
            wake = min(wake, self._tick_running(now))
        elif not desk.lingering and not desk.tell_at:  # after most calls
            return self._post.tick(now)
        for call in list(desk.lingering):
            if now >= call.left_at and not call.reason:
                desk.stop(call, "cancelled")
            elif not call.reason:
                wake = min(wake, call.left_at)
        if desk.tell_at:
            if now >= desk.tell_at:
                self._tell(now)
            wake = min(wake, desk.tell_at or wake)
        return min(max(wake - now, 0.0), self._post.tick(now))

    def _tick_running(self, now: float) -> float:
        desk = self._desk
        wake = now + 60
        metered = False
        for call in list(desk.running):
            metered = metered or call.metered
            if call.reason:
                if now >= call.again_at:  # it was swallowed, or code that is not Python is still at work
                    desk.interrupt(call)
                wake = min(wake, call.again_at)
            elif call.deadline:
                if now >= call.deadline:
                    desk.stop(call, "timeout")
                wake = min(wake, call.deadline if not call.reason else call.again_at)
        if metered:
            if now >= self._alive_at:
                self._alive_at = now + 0.5
                self._alive()
            overspent = set(self._limits.overspent())
            for call in list(desk.running):
                if call.token in overspent:
                    call.limit = "token"
                    desk.stop(call, "timeout")
            wake = min(wake, now + 1)
        return wake

    def _tell(self, now: float) -> None:
        """Says who waits for how many."""
        desk = self._desk
        desk.tell_at = 0.0
        then, fresh = time.time() - TELL_AFTER, False
        for turns in desk.turns():
            for position, call in enumerate(turns.order()):
                desk.tell_at = now + _TELL_EVERY
                if call.queued_at > then:
                    fresh = True
                elif position != call.position and now >= call.told_at + _TELL_EVERY:
                    call.position, call.told_at = position, now
                    self._post.note(call, {"t": "queued", "id": call.id, "position": position})
        if fresh:
            desk.tell_at = now + TELL_AFTER
