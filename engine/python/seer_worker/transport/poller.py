"""Waits for file descriptors; another thread may change the set meanwhile."""

import select
import sys
from typing import List, Optional

_GONE = getattr(select, "EPOLLRDHUP", 0)


class _Epoll:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.fd = self._epoll.fileno()

    def read(self, fd: int) -> None:
        """Tells from now on when there is something to read."""
        self._epoll.register(fd, select.EPOLLIN)

    def change(self, fd: int, read: Optional[bool], write: bool) -> None:
        """What is told of an fd. Of one that is not read: that its peer sends no more; with None, that it is gone."""
        events = select.EPOLLIN if read else _GONE if read is False else 0
        self._epoll.modify(fd, events | (select.EPOLLOUT if write else 0))

    def forget(self, fd: int) -> None:
        """Before it is closed."""
        self._epoll.unregister(fd)

    def wait(self, seconds: float = -1, most: int = 64) -> List[int]:
        """The descriptors that are ready."""
        return [fd for fd, _ in self._epoll.poll(seconds, most)]

    def close(self) -> None:
        self._epoll.close()


class _Kqueue:
    def __init__(self) -> None:
        self._kqueue = select.kqueue()  # type: ignore[attr-defined, unused-ignore]
        self.fd = self._kqueue.fileno()

    def _change(self, fd: int, what: int, flags: int) -> None:
        try:
            self._kqueue.control([select.kevent(fd, what, flags)], 0)  # type: ignore[attr-defined, unused-ignore]
        except FileNotFoundError:  # it was not watched for that
            pass

    def read(self, fd: int) -> None:
        self._change(fd, select.KQ_FILTER_READ, select.KQ_EV_ADD)  # type: ignore[attr-defined, unused-ignore]

    def change(self, fd: int, read: Optional[bool], write: bool) -> None:
        for what, wanted in ((select.KQ_FILTER_READ, read), (select.KQ_FILTER_WRITE, write)):  # type: ignore[attr-defined, unused-ignore]
            self._change(fd, what, select.KQ_EV_ADD if wanted else select.KQ_EV_DELETE)  # type: ignore[attr-defined, unused-ignore]

    def forget(self, fd: int) -> None:
        self.change(fd, False, False)

    def wait(self, seconds: float = -1, most: int = 64) -> List[int]:
        return [e.ident for e in self._kqueue.control(None, most, None if seconds < 0 else seconds)]

    def close(self) -> None:
        self._kqueue.close()


if sys.platform.startswith("linux"):
    Poller = _Epoll
else:
    Poller = _Kqueue
