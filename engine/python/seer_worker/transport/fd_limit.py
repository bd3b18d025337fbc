"""How many connections fit: a worker without descriptors hears nobody, not even its runtime."""

import resource
from typing import Dict

_WANTED = 1 << 16
_RESERVE = 256  # descriptors that stay for the user's code, children and files
_LEAST = 64
FULL = (b"HTTP/1.1 503 Service Unavailable\r\nSeer: 1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 107\r\n\r\n"
        b'{"error":{"code":"unavailable","message":"the service has too many connections; close some, or try later"}}')


def widen() -> None:
    """As many descriptors as the system allows, within reason."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # some systems allow less than they say
            pass


class FDLimit:
    """Counts connections; those that the runtime shares among clients are of nobody."""

    def __init__(self) -> None:
        widen()
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = max(_LEAST, (soft if soft != resource.RLIM_INFINITY else _WANTED) - _RESERVE)
        self._taken: Dict[str, int] = {}
        self._all = 0

    def take(self, owner: str) -> bool:
        """Whether one more fits. One owner has half of the room, so that others can always come."""
        taken = self._taken.get(owner, 0)
        if self._all >= self.most or owner and 2 * taken >= self.most:
            return False
        self._taken[owner] = taken + 1
        self._all += 1
        return True

    def give(self, owner: str) -> None:
        """One has gone."""
        self._all -= 1
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
