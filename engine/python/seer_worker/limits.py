"""What a token may do: TOKEN of docs/protocol.md, section 9."""

import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional


class Refused(Exception):
    """The call error `refused`: the text says which limit, and what is left or when it is over."""


class Limits:
    """Thread-safe. A token that is not known has no limits here: the runtime has checked it."""

    def __init__(self, tokens: Iterable[Mapping[str, Any]] = (), price: float = 0.0, use: Optional[Mapping[str, Mapping[str, Any]]] = None,
                 now: Callable[[], float] = time.time) -> None:
        """price is USD per hour; use is Journal.use. A schema that is not of the subset is a ValueError."""
        raise NotImplementedError

    def replace(self, tokens: Iterable[Mapping[str, Any]], price: float) -> None:
        """Tokens as they are from now on. What they have been used for stays."""
        raise NotImplementedError

    def allows(self, token: str, function: str) -> bool:
        """Whether the function is shown to the token at all."""
        raise NotImplementedError

    def check(self, token: str, function: str) -> None:
        """When a call arrives: what can be said before its turn. Refused; counts nothing but refusals."""
        raise NotImplementedError

    def begin(self, token: str, function: str, arguments: Mapping[str, Any]) -> Optional[float]:
        """Right before the call runs; arguments are the bound ones by the names of parameters. Refused, or the seconds
        that are left to the token, None = no limit. Every begin that returns needs its end."""
        raise NotImplementedError

    def end(self, token: str, seconds: float) -> None:
        """The call has run so long."""
        raise NotImplementedError

    def overspent(self) -> List[str]:
        """Tokens whose running calls, together, have spent all: these have to be stopped now. For a look each second."""
        raise NotImplementedError

    def use(self) -> Dict[str, Dict[str, Any]]:
        """USE of every token."""
        raise NotImplementedError
