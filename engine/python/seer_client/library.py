"""What a generated library is made with.

    from ._client import Library as _Library

    _library = _Library(__file__)

    @_library.function
    def embed(text, layer=-1, *more, mode="mean", **options):
        '''The docstring, as the user wrote it.'''
        return _library.call("embed", [], {"text": text, "layer": layer, "mode": mode, **options}, ["text", "layer"], more)

What has a name stands in the dict, what has none in the list. Where there are *more, the names of those before it follow, and it.
A generator is called with _library.stream. An `async def` of the interface is called like any other function.
"""

import functools
import types
from typing import Any, Callable, Dict, List, Sequence, Tuple

from .client import Client
from .errors import SeerError
from .futures import AsyncStream, PendingCall, Stream, awaited
from .settings import current_options


class Default:
    """Stands for a default that only the served function knows; it is not sent."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def given_arguments(args: List[Any], kwargs: Dict[str, Any], leading: Sequence[str],
                    rest: Sequence[Any]) -> Tuple[List[Any], Dict[str, Any]]:
    """The arguments that were given, without those that keep their default."""
    if rest:
        args = [*args, *(kwargs.pop(name) for name in leading), *rest]
    for at, value in enumerate(args):
        if isinstance(value, Default):  # without a name, nothing can be given after what was not given
            args = args[:at]
            break
    for value in kwargs.values():
        if isinstance(value, Default):
            return args, {name: v for name, v in kwargs.items() if not isinstance(v, Default)}
    return args, kwargs


class _Gather:
    """Takes the library's place in a function, to get what would be sent."""

    def call(self, fn: str, args: List[Any], kwargs: Dict[str, Any], leading: Sequence[str] = (), rest: Sequence[Any] = ()) -> Any:
        return (fn, *given_arguments(args, kwargs, leading, rest))

    stream = call


class Library:
    """The client of a generated library, and what its functions are given beside themselves."""

    def __init__(self, module_file: str) -> None:
        self.client = Client.beside(module_file)
        self.attach, self.calls = self.client.attach, self.client.calls

    def call(self, fn: str, args: List[Any], kwargs: Dict[str, Any], leading: Sequence[str] = (), rest: Sequence[Any] = ()) -> Any:
        """Calls a function that gives one result."""
        try:
            return self.client.call(fn, *given_arguments(args, kwargs, leading, rest))
        except SeerError as e:
            # One frame of this file is enough: the error is the caller's, or the function's.
            raise e.with_traceback(None) from e.__cause__

    def stream(self, fn: str, args: List[Any], kwargs: Dict[str, Any], leading: Sequence[str] = (), rest: Sequence[Any] = ()) -> Stream:
        """Calls a generator."""
        return self.client.stream(fn, *given_arguments(args, kwargs, leading, rest))

    def function(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Gives a function the attributes submit, aio and handle, which take the same arguments."""
        code, client = f.__code__, self.client
        gather: Any = types.FunctionType(code, dict.fromkeys(code.co_names, _Gather()), f.__name__, f.__defaults__)
        gather.__kwdefaults__ = f.__kwdefaults__
        streams = "stream" in code.co_names

        def submit(*args: Any, **kwargs: Any) -> PendingCall:
            return client.submit(*gather(*args, **kwargs))

        def aio(*args: Any, **kwargs: Any) -> Any:
            fn, given, named = gather(*args, **kwargs)
            call = client.prepare(fn, given, named, current_options())
            return AsyncStream(call) if streams else awaited(call, call.value)

        def handle(*args: Any, **kwargs: Any) -> Any:
            fn, given, named = gather(*args, **kwargs)
            if not streams:
                return client.handle(fn, given, named)
            return Stream(client.prepare(fn, given, named, current_options().but(handles_above=0)))

        for way in (submit, aio, handle):
            _dress(way, f)
        return f


def _dress(way: Any, f: Any) -> None:
    """Makes the way of calling f look like f, and puts it there."""
    name = way.__name__
    functools.update_wrapper(way, f, updated=())
    way.__qualname__, way.__doc__ = "%s.%s" % (f.__qualname__, name), _WAYS[name] + (f.__doc__ or "")
    setattr(f, name, way)


_WAYS = {
    "submit": "Makes the call and returns a PendingCall at once; the call goes on by itself.\n\n",
    "aio": "The same for async code: to be awaited, or for a generator to be iterated with `async for`.\n\n",
    "handle": "The result stays in the sandbox, and a Handle to it is returned.\n\n",
}
