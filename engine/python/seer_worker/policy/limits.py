"""What a token may do: TOKEN of docs/protocol.md, section 9."""

import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional

from .limits_schema import compile_all

_LIMITS = ("functions", "calls", "rate", "expires_unix", "spend", "arguments")


class Refused(Exception):
    """The call error `refused`: the text says which limit, and what is left or when it is over."""


class _Token:
    """What one may do, and what it has done."""

    def __init__(self, use: Optional[Mapping[str, Any]], price: float) -> None:
        use = use or {}
        self.calls, self.refused = int(use.get("calls") or 0), int(use.get("refused") or 0)
        self.seconds = float(use.get("seconds") or 0.0)
        self.spent = float(use.get("spend_usd") or 0.0) + float(use.get("unpriced") or 0.0) * price / 3600
        self.last = float(use.get("last_unix") or 0.0)
        self.running: Dict[int, float] = {}  # when each of its calls began
        self.recent: List[float] = []  # [how many calls of the rate are left, when that was so]
        self.rate: List[float] = []
        self.dead = ""  # why it opens nothing any more
        self.set({})

    def set(self, token: Mapping[str, Any]) -> None:
        self.limited = any(token.get(k) for k in _LIMITS)
        self.functions = frozenset(token.get("functions") or ())
        self.most = int(token.get("calls") or 0)
        self.expires = float(token.get("expires_unix") or 0)
        self.spend = float(token.get("spend") or 0)
        self.tests = compile_all(token.get("arguments") or {})
        rate = [float(v) for v in token.get("rate") or ()]
        if rate and (len(rate) != 2 or rate[0] < 1 or rate[1] <= 0):
            raise ValueError("the rate of a token must be [calls, seconds], at least one call, and is %r" % (rate,))
        if rate != self.rate:
            self.recent = []
        self.rate = rate

    def use(self) -> Dict[str, Any]:
        use = {"calls": self.calls, "seconds": round(self.seconds, 6), "spend_usd": round(self.spent, 9), "refused": self.refused}
        return {**use, "last_unix": round(self.last, 6)} if self.last else use


class Limits:
    """Thread-safe. A token that is not known has no limits here: the runtime has checked it."""

    def __init__(self, tokens: Iterable[Mapping[str, Any]] = (), price: float = 0.0, use: Optional[Mapping[str, Mapping[str, Any]]] = None,
                 now: Callable[[], float] = time.time) -> None:
        """price is USD per hour, without one nothing is spent; use is Journal.read_use."""
        self._lock, self._now = threading.Lock(), now
        self._price = price
        self._tokens = {id: _Token(u, price) for id, u in (use or {}).items()}
        self._serial = 0
        self.replace(tokens, price)

    def replace(self, tokens: Iterable[Mapping[str, Any]], price: float) -> None:
        """Tokens as they are from now on. What they have been used for stays."""
        with self._lock:
            self._price = price
            new = {token["id"]: token for token in tokens}
            for id in [*self._tokens, *new]:
                self._set(self._token(id), new.get(id, {}), bool(new) and id not in new)

    def _set(self, token: "_Token", limits: Mapping[str, Any], revoked: bool) -> None:
        """A token whose limits cannot be kept opens nothing, rather than everything."""
        try:
            token.set(limits)
            token.dead = "the token has been revoked; ask for a new one" if revoked else ""
        except (ValueError, TypeError, AttributeError, OverflowError) as e:
            token.dead = "the limits of the token cannot be kept: %s; ask for one that is right" % e
        token.limited = token.limited or bool(token.dead)

    def allows(self, token: str, function: str) -> bool:
        """Whether the function is shown to the token at all. Those of handles always are."""
        known = self._tokens.get(token)
        return known is None or not known.functions or function in known.functions or function.startswith("$")

    def check(self, token: str, function: str) -> None:
        """When a call arrives: what can be said before its turn. Refused; takes nothing from the limits."""
        known = self._tokens.get(token)
        if known is not None and known.limited:
            with self._lock:
                self._refuse(known, self._before(known, function, self._now(), function.startswith("$")))

    def begin(self, token: str, function: str, arguments: Mapping[str, Any], more: bool = False) -> Optional[float]:
        """Right before the call runs; arguments are the bound ones by the names of parameters, with more also those that are
        taken by no parameter of their own. Refused, or the seconds that are left to the token, None = no limit. Every begin
        that returns needs its end."""
        with self._lock:
            known = self._token(token)
        wrong = _bounds(known, function, arguments, more)  # without the lock: a long text takes its time
        with self._lock:
            now = self._now()
            ours = function.startswith("$")  # of handles: they take no turn, and nothing from calls and rate
            if known.limited:
                self._refuse(known, self._before(known, function, now, ours) or wrong or (None if ours else _take(known, now)))
            known.last = now
            if ours:
                return None
            known.calls += 1
            if not known.spend or self._price <= 0:
                return None
            self._serial += 1
            known.running[self._serial] = now
            return max(0.0, self._left(known, now)) / self._price * 3600 / len(known.running)

    def end(self, token: str, seconds: float) -> None:
        """The call has run so long. Not for functions of handles."""
        with self._lock:
            known = self._token(token)
            now = known.last = self._now()
            if known.running:  # calls are alike but for their age
                known.running.pop(min(known.running, key=lambda k: abs(known.running[k] + seconds - now)))
            known.seconds += seconds
            known.spent += seconds * self._price / 3600

    def overspent(self) -> List[str]:
        """Tokens whose running calls, together, have spent all: these have to be stopped now. For a look each second."""
        with self._lock:
            now = self._now()
            return [id for id, t in self._tokens.items() if t.spend and t.running and self._left(t, now) <= 0]

    def use(self) -> Dict[str, Dict[str, Any]]:
        """USE of every token."""
        with self._lock:
            return {id: token.use() for id, token in self._tokens.items()}

    # --- with the lock

    def _token(self, id: str) -> _Token:
        known = self._tokens.get(id)
        if known is None:
            known = self._tokens[id] = _Token(None, 0.0)
        return known

    def _left(self, token: _Token, now: float) -> float:
        """Dollars, without what running calls have spent."""
        running = sum(max(0.0, now - began) for began in token.running.values())
        return token.spend - token.spent - running * self._price / 3600

    def _refuse(self, token: _Token, reason: Optional[str]) -> None:
        if reason is not None:
            token.refused += 1
            token.last = self._now()
            raise Refused(reason)

    def _before(self, token: _Token, function: str, now: float, ours: bool) -> Optional[str]:
        if token.dead:
            return token.dead
        if token.expires and now >= token.expires:
            return "the token expired %s ago, at %s; ask for a new one" % (_span(now - token.expires), _clock(token.expires))
        if ours:
            return None
        if token.functions and function not in token.functions:
            return "the token may call %s, not %s" % (", ".join(sorted(token.functions)), function)
        if token.most and token.calls >= token.most:
            return "the token's %d calls have been made; none is left" % token.most
        if token.spend and self._left(token, now) <= 0:
            return "the token's %s have been spent; nothing is left" % _money(token.spend)
        if token.rate and _available(token, now) < 1:
            return _too_fast(token, now)
        return None


def _available(token: _Token, now: float) -> float:
    """Calls that the rate allows now; what is not used is saved, up to the whole of it."""
    calls, seconds = token.rate
    if not token.recent:
        return calls
    return min(calls, token.recent[0] + max(0.0, now - token.recent[1]) * calls / seconds)


def _take(token: _Token, now: float) -> Optional[str]:
    if not token.rate:
        return None
    available = _available(token, now)
    if available < 1:
        return _too_fast(token, now)
    token.recent = [available - 1, now]
    return None


def _too_fast(token: _Token, now: float) -> str:
    calls, seconds = token.rate
    wait = (1 - _available(token, now)) * seconds / calls
    return "the token may make %g calls in %s; the next one in %s" % (calls, _span(seconds), _span(wait))


def _bounds(token: _Token, function: str, arguments: Mapping[str, Any], more: bool) -> Optional[str]:
    for name, test in token.tests.get(function, {}).items():
        if name in arguments:
            try:
                wrong = test(arguments[name])
            except Exception as e:  # a signalling NaN, or an object with comparisons of its own
                wrong = "cannot be compared with its bound: %s" % type(e).__name__
            if wrong is not None:
                return "with this token, the argument %s of %s %s" % (name, function, wrong)
        elif not more:  # a bound that nothing keeps would be none
            return "the token bounds the argument %s of %s, which has no such parameter; ask for a token that fits" % (name, function)
    return None


def _span(seconds: float) -> str:
    if seconds < 120:
        return "%.3g s" % max(0.001, seconds)
    return "%.0f minutes" % (seconds / 60) if seconds < 7200 else "%.1f hours" % (seconds / 3600)


def _money(dollars: float) -> str:
    return "$%.2f" % dollars if dollars >= 0.01 else "$%.3g" % dollars


def _clock(unix: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(unix))
