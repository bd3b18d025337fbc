"""Waits for file descriptors; another thread may change the set meanwhile."""

import select
from typing import List, Tuple

_GONE = sum(getattr(select, name, 0) for name in ("EPOLLRDHUP", "EPOLLHUP", "EPOLLERR"))


class _Epoll:
    def __init__(self) -> None:
        self._epoll = select.epoll()

    def read(self, fd: int) -> None:
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLRDHUP)

    def end(self, fd: int) -> None:
        """Of an fd that reads no more itself: that the peer has closed it."""
        self._epoll.register(fd, 0)

    def hangup(self, fd: int) -> None:
        """Of an fd that was watched for reading: from now on only that the peer is gone."""
        self._epoll.modify(fd, select.EPOLLRDHUP)

    def write(self, fd: int) -> None:
        self._epoll.register(fd, select.EPOLLOUT)

    def forget(self, fd: int) -> None:
        self._epoll.unregister(fd)

    def wait(self, seconds: float = -1, most: int = 64) -> List[Tuple[int, bool]]:
        """The descriptors that are ready, each with whether the peer has gone."""
        return [(fd, bool(events & _GONE)) for fd, events in self._epoll.poll(seconds, most)]


class _Kqueue:
    def __init__(self) -> None:
        self._kqueue = select.kqueue()  # type: ignore[attr-defined, unused-ignore]

    def _change(self, fd: int, what: int, flags: int) -> None:
        self._kqueue.control([select.kevent(fd, what, flags)], 0)  # type: ignore[attr-defined, unused-ignore]

    def read(self, fd: int) -> None:
        self._change(fd, select.KQ_FILTER_READ, select.KQ_EV_ADD)  # type: ignore[attr-defined, unused-ignore]

    def end(self, fd: int) -> None:
        """Not to be had here; the peer's end shows when the answer is sent."""

    def hangup(self, fd: int) -> None:
        """A kqueue cannot tell of the end alone; the end of this call will show it."""
        self.forget(fd)

    def write(self, fd: int) -> None:
        self._change(fd, select.KQ_FILTER_WRITE, select.KQ_EV_ADD)  # type: ignore[attr-defined, unused-ignore]

    def forget(self, fd: int) -> None:
        for what in (select.KQ_FILTER_READ, select.KQ_FILTER_WRITE):  # type: ignore[attr-defined, unused-ignore]
            try:
                self._change(fd, what, select.KQ_EV_DELETE)  # type: ignore[attr-defined, unused-ignore]
            except OSError:  # watched for the other of the two
                continue

    def wait(self, seconds: float = -1, most: int = 64) -> List[Tuple[int, bool]]:
        events = self._kqueue.control(None, most, None if seconds < 0 else seconds)
        eof = select.KQ_EV_EOF  # type: ignore[attr-defined, unused-ignore]
        return [(e.ident, bool(e.flags & eof)) for e in events]


Poller = _Epoll if hasattr(select, "epoll") else _Kqueue
