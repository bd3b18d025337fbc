"""Whose turn it is: tokens take turns, and the clients of a token take turns among themselves."""

from collections import OrderedDict, deque
from typing import Callable, Deque, Generic, Iterator, List, Optional, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A fair queue. Items of one client come out in the order in which they went in. Not thread-safe."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, OrderedDict[str, Deque[T]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, token: str) -> int:
        """How many are the token's."""
        return sum(map(len, self._tokens.get(token, {}).values()))

    def push(self, token: str, client: str, item: T) -> None:
        """The end of the client's line."""
        clients = self._tokens.get(token)
        if clients is None:
            clients = self._tokens[token] = OrderedDict()
        line = clients.get(client)
        if line is None:
            line = clients[client] = deque()
        line.append(item)
        self._count += 1

    def pop(self) -> Optional[T]:
        """The next one. Its token, and its client among those of the token, then have their turn last."""
        if not self._count:
            return None
        token, clients = self._tokens.popitem(last=False)
        client, line = clients.popitem(last=False)
        item = line.popleft()
        self._count -= 1
        if line:
            clients[client] = line
        if clients:
            self._tokens[token] = clients
        return item

    def remove(self, token: str, client: str, item: T) -> bool:
        """Takes one out of its line; False if it is not there."""
        clients = self._tokens.get(token)
        line = clients.get(client) if clients else None
        if clients is None or line is None:
            return False
        try:
            line.remove(item)
        except ValueError:
            return False
        self._count -= 1
        if not line:
            del clients[client]
        if not clients:
            del self._tokens[token]
        return True

    def take(self, wanted: Callable[[T], bool], most: int) -> List[T]:
        """Up to most of the wanted ones, in the order of turns; who waits behind another one of its client stays."""
        taken: List[T] = []
        found = True
        while found and len(taken) < most:
            found = False
            for token, clients in list(self._tokens.items()):
                for client, line in list(clients.items()):
                    if len(taken) < most and wanted(line[0]):
                        taken.append(line.popleft())
                        found = True
                        if not line:
                            del clients[client]
                if not clients:
                    del self._tokens[token]
        self._count -= len(taken)
        return taken

    def order(self) -> Iterator[T]:
        """All in the order in which pop would give them, as things stand."""
        rings = deque(deque(iter(line) for line in clients.values()) for clients in self._tokens.values())
        while rings:
            clients = rings.popleft()
            while clients:
                line = clients.popleft()
                try:
                    item = next(line)
                except StopIteration:
                    continue
                clients.append(line)
                yield item
                break
            if clients:
                rings.append(clients)
