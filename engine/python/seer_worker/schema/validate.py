"""Checks the arguments of a call before the function runs, and converts them to what its annotations say."""

import difflib
import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..transport.errors import InterfaceError
from .containers import is_listed
from .options import Options, options_of
from .records import hints_of, qualifier
from .schema import Builder, element_of, origin_of, result_of
from .types import ANYTHING, Misfit, Node

Arguments = Tuple[Sequence[Any], Dict[str, Any]]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_UNKNOWN: "Tuple[int, bool, None]" = (-1, False, None)


class BadArguments(Exception):
    """The arguments do not fit. The message names the function, the parameter and the place in it."""


class Parameter(NamedTuple):
    """One parameter, and what its annotation means: of *args and **kwargs that of a single value, of a batch that of one caller's."""

    shape: inspect.Parameter
    node: Node
    whole: bool = False  # **kwargs: Unpack[SomeTypedDict]: node is of all together

    @property
    def name(self) -> str:
        return self.shape.name


class Binder:
    """The parameters of one function, made ready once. It may be used by several threads."""

    def __init__(self, name: str, signature: Optional[inspect.Signature], parameters: List[Parameter], returns: Node) -> None:
        self.signature = signature  # None if the function does not tell
        self.parameters = parameters
        self.returns = returns  # what one caller gets: one item of a generator, one element of a batch
        self.tensors = any(p.node.tensors for p in parameters)  # some argument is to be a torch tensor
        self._name = name
        kinds = {p.name: p.shape.kind for p in parameters}
        self._positional = [p for p in parameters if kinds[p.name] in _POSITIONAL]
        self._rest = next((p for p in parameters if kinds[p.name] is inspect.Parameter.VAR_POSITIONAL), None)
        self._more = next((p for p in parameters if kinds[p.name] is inspect.Parameter.VAR_KEYWORD), None)
        self._keywords = {p.name: p for p in parameters if kinds[p.name] in _POSITIONAL[1:] + (inspect.Parameter.KEYWORD_ONLY,)}
        self._index = {p.name: i for i, p in enumerate(self._positional)}
        needed = [p for p in (*self._positional, *self._keywords.values()) if p.shape.default is inspect.Parameter.empty]
        self._needed = list(dict.fromkeys(p.name for p in needed))
        self._defaults = {p.name: p.shape.default for p in parameters if p.shape.default is not inspect.Parameter.empty}
        self._most = len(self._positional)
        # How many that are needed are not among the first n by position; never 0 where **kwargs have to be looked at together.
        whole = self._more is not None and self._more.whole
        needed_at = [self._index.get(n, self._most) for n in self._needed]
        self._missing = [len(needed_at) + whole - sum(i < n for i in needed_at) for n in range(self._most + 1)]
        self._exact = [(i, p.node.exact) for i, p in enumerate(self._positional) if not p.node.anything]
        self._quick = {name: (self._index.get(name, self._most), name in self._needed, None if p.node.anything else p.node.exact)
                       for name, p in self._keywords.items()}

    def bind(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Arguments:
        """The arguments of one call as the function gets them: call function(*args, **kwargs). BadArguments if they do not fit.

        Of a batch function these are one caller's; see [Binder.batch]. It may run code of the interface (a dataclass's
        __post_init__), so what interrupts a call has to reach it.
        """
        if self._fits(args, kwargs) or self.signature is None:
            return args, kwargs
        return self._bind(args, kwargs)

    def _fits(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
        """Whether the types alone say that all is well, which is so for most calls. False: have a closer look."""
        count = len(args)
        if count > self._most:
            return False
        for i, exact in self._exact:
            if i < count and type(args[i]) not in exact:
                return False
        missing = self._missing[count]
        for name, value in kwargs.items():
            index, needed, types = self._quick.get(name, _UNKNOWN)
            if index < count or types is not None and type(value) not in types:
                return False
            missing -= needed
        return missing == 0

    def _bind(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Arguments:
        out = list(args)
        for i, value in enumerate(args):
            if i < self._most:
                p = self._positional[i]
                out[i] = self._fit(p.node, value, p.shape.name)
            elif self._rest is None:
                raise self._bad("too many positional arguments; it takes %s" % self.signature)
            else:
                out[i] = self._fit(self._rest.node, value, "%s[%d]" % (self._rest.name, i - self._most))
        named = {name: self._keyword(name, value, len(args)) for name, value in kwargs.items()}
        for name in self._needed:
            if name not in named and self._index.get(name, len(args)) >= len(args):
                raise self._bad("missing a required argument: %r; it takes %s" % (name, self.signature))
        return out, self._whole(named) if self._more is not None and self._more.whole else named

    def _whole(self, named: Dict[str, Any]) -> Dict[str, Any]:
        assert self._more is not None
        rest = {k: v for k, v in named.items() if k not in self._keywords}
        return {**{k: v for k, v in named.items() if k in self._keywords}, **self._fit(self._more.node, rest, self._more.name)}

    def _keyword(self, name: str, value: Any, count: int) -> Any:
        p = self._keywords.get(name)
        if p is not None:
            if self._index.get(name, count) < count:
                raise self._bad("multiple values for argument %r; it takes %s" % (name, self.signature))
            return self._fit(p.node, value, name)
        if self._more is not None:
            return value if self._more.whole else self._fit(self._more.node, value, name)
        if name in self._index:
            raise self._bad("%r is given by position only; it takes %s" % (name, self.signature))
        takes = "it takes %s" % self.signature if self.parameters else "it takes no arguments"
        close = difflib.get_close_matches(name, list(self._keywords), 1)
        raise self._bad("there is no parameter %r%s; %s" % (name, " (%s?)" % close[0] if close else "", takes))

    def _fit(self, node: Node, value: Any, place: str) -> Any:
        if node.anything or type(value) in node.exact:
            return value
        try:
            return node.convert(value)
        except Misfit as e:
            raise self._bad(e.at(place)) from None
        except RecursionError:
            raise self._bad("%s is nested too deeply" % place) from None

    def _bad(self, reason: str) -> BadArguments:
        return BadArguments("%s: %s" % (self._name, reason))

    def batch(self, calls: Sequence[Arguments]) -> Arguments:
        """Joins what bind gave for several calls of a batch function: each parameter is then a list, in the order of calls."""
        named = [self.names(args, kwargs) for args, kwargs in calls]
        columns = {p.name: [values[p.name] for values in named] for p in self.parameters}
        args = [columns.pop(p.name) for p in self._positional]
        return args, columns

    @property
    def open(self) -> bool:
        """It has **kwargs."""
        return self._more is not None

    def bounded(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """As names, and what **kwargs takes also by its own names: the limits of a token may be of these."""
        return {**kwargs, **self.names(args, kwargs)} if self.open else self.names(args, kwargs)

    def names(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """What bind gave, by parameter, defaults included; for *args a list, for **kwargs a dict."""
        found = dict(self._defaults)
        found.update((p.name, value) for p, value in zip(self._positional, args))
        if self._rest is not None:
            found[self._rest.name] = list(args[self._most:])
        if self._more is not None:
            found[self._more.name] = {k: v for k, v in kwargs.items() if k not in self._keywords}
        found.update((k, v) for k, v in kwargs.items() if k in self._keywords)
        return found


def prepare(function: Callable[..., Any], options: Optional[Options] = None) -> Binder:
    """InterfaceError if the options do not fit the parameters."""
    options = options or options_of(function)
    plain = inspect.unwrap(function)
    name = getattr(function, "__name__", "the function")
    hints = hints_of(plain)
    builder = Builder(getattr(plain, "__globals__", None))
    signature = signature_of(function)
    try:
        parameters = [_parameter(p, hints, builder, options, name) for p in signature.parameters.values()] if signature else []
    except InterfaceError as e:
        e.line = getattr(getattr(plain, "__code__", None), "co_firstlineno", None)
        raise
    returns = ANYTHING
    if "return" in hints:
        returns = builder.node(result_of(hints["return"], options.stream, options.batch > 0))
    return Binder(name, signature, parameters, returns)


def signature_of(function: Callable[..., Any]) -> Optional[inspect.Signature]:
    """None for a callable that does not tell."""
    try:
        return inspect.signature(function)
    except NameError:  # Python 3.14 evaluates annotations now, and one of them names something unknown
        import annotationlib  # type: ignore[import-not-found, unused-ignore]
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)  # type: ignore[call-arg, unused-ignore]
    except (TypeError, ValueError):
        return None


def _parameter(p: inspect.Parameter, hints: Dict[str, Any], builder: Builder, options: Options, function: str) -> Parameter:
    hint = hints.get(p.name, Any)
    if options.batch:
        hint = _batched(p, hint, function)
    return Parameter(p, builder.node(hint), p.kind is p.VAR_KEYWORD and qualifier(hint) == "Unpack")


def _batched(p: inspect.Parameter, hint: Any, function: str) -> Any:
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
        raise InterfaceError("%s is exposed with batch=, and so cannot have %s: every parameter is a list with one value for each caller"
                             % (function, str(p).partition(":")[0]))
    if p.default is not p.empty:
        raise InterfaceError("%s is exposed with batch=, and so %s cannot have a default: it is a list with one value for each caller"
                             % (function, p.name))
    while hasattr(hint, "__metadata__"):
        hint = hint.__origin__
    if hint is Any:
        return Any
    if not is_listed(origin_of(hint)):
        raise InterfaceError("%s is exposed with batch=, and so %s must be a list with one value for each caller (list[…]); it is %s"
                             % (function, p.name, inspect.formatannotation(hint)))
    return element_of(hint)
