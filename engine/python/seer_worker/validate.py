"""Checks the arguments of a call before the function runs, and converts them to what its annotations say."""

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .options import Options

Arguments = Tuple[Sequence[Any], Dict[str, Any]]


class BadArguments(Exception):
    """The arguments do not fit. The message names the function, the parameter and the place in it."""


class Binder:
    """The parameters of one function, made ready once. It may be used by several threads."""

    def bind(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Arguments:
        """The arguments of one call as the function gets them: call function(*args, **kwargs). BadArguments if they do not fit.

        Of a batch function these are one caller's; see [Binder.batch].
        """
        return args, kwargs

    def batch(self, calls: Sequence[Arguments]) -> Arguments:
        """Joins what bind gave for several calls of a batch function: each parameter is then a list, in the order of calls."""
        raise NotImplementedError

    def names(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """What bind gave, by parameter, defaults included; for *args a list, for **kwargs a dict. For the limits of tokens."""
        return dict(kwargs)


def prepare(function: Callable[..., Any], options: Optional[Options] = None) -> Binder:
    """InterfaceError if the options do not fit the parameters."""
    return Binder()

