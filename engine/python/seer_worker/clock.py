"""What becomes due with time: deadlines, the end of patience, and news for those who wait."""

import time
from typing import Callable

from .calls.delivery import Delivery
from .calls.scheduler import TELL_AFTER, Scheduler
from .policy.limits import Limits

_TELL_EVERY = 1.0


class Clock:
    """Belongs to whoever has the service's lock."""

    def __init__(self, scheduler: Scheduler, limits: Limits, delivery: Delivery, sweep: Callable[[], None],
                 alive: Callable[[], None]) -> None:
        """sweep is done once a minute, alive once a second while calls run whose time is counted."""
        self._scheduler, self._limits, self._delivery, self._sweep, self._alive = scheduler, limits, delivery, sweep, alive
        self._sweep_at = self._alive_at = 0.0

    def tick(self, now: float) -> float:
        """Does what is due, and tells after how many seconds to come again."""
        scheduler = self._scheduler
        wake = now + 60
        if now >= self._sweep_at:
            self._sweep_at = now + 60
            self._sweep()
        scheduler.take_over()
        if scheduler.running:
            wake = min(wake, self._tick_running(now))
        elif not scheduler.lingering and not scheduler.tell_at:  # after most calls
            return self._delivery.tick(now)
        for call in list(scheduler.lingering):
            if now >= call.left_at and not call.reason:
                scheduler.stop(call, "cancelled")
            elif not call.reason:
                wake = min(wake, call.left_at)
        if scheduler.tell_at:
            if now >= scheduler.tell_at:
                self._tell(now)
            wake = min(wake, scheduler.tell_at or wake)
        return min(max(wake - now, 0.0), self._delivery.tick(now))

    def _tick_running(self, now: float) -> float:
        scheduler = self._scheduler
        wake = now + 60
        metered = False
        for call in list(scheduler.running):
            metered = metered or call.metered
            if call.reason:
                if now >= call.again_at:  # it was swallowed, or code that is not Python is still at work
                    scheduler.interrupt(call)
                wake = min(wake, call.again_at)
            elif call.deadline:
                if now >= call.deadline:
                    scheduler.stop(call, "timeout")
                wake = min(wake, call.deadline if not call.reason else call.again_at)
        if metered:
            if now >= self._alive_at:
                self._alive_at = now + 0.5
                self._alive()
            overspent = set(self._limits.overspent())
            for call in list(scheduler.running):
                if call.token in overspent:
                    call.limit = "token"
                    scheduler.stop(call, "timeout")
            wake = min(wake, now + 1)
        return wake

    def _tell(self, now: float) -> None:
        """Says who waits for how many."""
        scheduler = self._scheduler
        scheduler.tell_at = 0.0
        then, fresh = time.time() - TELL_AFTER, False
        for queue in scheduler.fair_queues():
            for position, call in enumerate(queue.order()):
                scheduler.tell_at = now + _TELL_EVERY
                if call.queued_at > then:
                    fresh = True
                elif position != call.position and now >= call.told_at + _TELL_EVERY:
                    call.position, call.told_at = position, now
                    self._delivery.note(call, {"t": "queued", "id": call.id, "position": position})
        if fresh:
            scheduler.tell_at = now + TELL_AFTER
