"""What the user's variables are, without importing a library for it and without changing anything in the kernel."""

from __future__ import annotations

import ast
import json
from typing import Any, Dict, List, Optional

from ..errors import Refused
from . import setup_code
from .session import Session

# Runs in the kernel. It knows the libraries that are loaded there; reprs of users' own types get 2 s in all.
SNIPPET = r'''
import json, signal, sys, threading, time

def _lib(name, *path):
    found = sys.modules.get(name)
    for part in path:
        found = getattr(found, part, None)
    return found

def _is(value, name, *path):
    kind = _lib(name, *path)
    return isinstance(kind, type) and isinstance(value, kind)

def _cut(text, limit=200):
    return text if len(text) <= limit else text[:limit - 1] + "\u2026"

PLAIN = (bool, int, float, complex, type(None))
DEPTH = 4

class Late(BaseException):
    pass

def _plain(value, depth=0):
    """A repr that runs none of the user's code."""
    kind = type(value)
    if kind in PLAIN:
        try:
            return _cut(repr(value))
        except ValueError:
            return "<a very long int>"
    if kind is str:
        return _cut(repr(value[:300]))
    if kind is bytes:
        return _cut(repr(value[:300]))
    if kind in (list, tuple, set, frozenset, dict) and depth < DEPTH:
        items, size = [], len(value)
        try:
            for item in (value.items() if kind is dict else value):
                if len(items) == 8:
                    break
                parts = item if kind is dict else (item,)
                items.append(": ".join(_plain(part, depth + 1) for part in parts))
        except RuntimeError:
            pass
        more = ", \u2026" if size > len(items) else "," if kind is tuple and size == 1 else ""
        start, end = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: "{}"}[kind]
        return _cut(start + ", ".join(items) + more + end)
    return "<%s>" % kind.__name__

def _own(value, left):
    """The user's own repr, for as long as there is time."""
    if left <= 0.01 or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return _plain(value)
    def late(*_):
        raise Late
    before, timer = signal.signal(signal.SIGALRM, late), signal.setitimer(signal.ITIMER_REAL, left, 0.2)
    try:
        try:
            return _cut(" ".join(str(repr(value)).split()))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:
        return _plain(value)
    except Exception as e:
        return "<%s: its repr raises %s>" % (type(value).__name__, type(e).__name__)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)

def _describe(name, value, left):
    kind = type(value)
    d = {"name": name, "type": kind.__name__, "module": str(getattr(kind, "__module__", "") or ""), "shape": None, "dtype": None,
         "length": None, "bytes": None, "preview": ""}
    if _is(value, "numpy", "ndarray") or _is(value, "torch", "Tensor"):
        d["shape"], d["dtype"] = [int(n) for n in value.shape], str(value.dtype)
        d["length"] = d["shape"][0] if d["shape"] else None
        if _is(value, "torch", "Tensor"):
            d["bytes"] = int(value.numel() * value.element_size())
            d["preview"] = "tensor on %s%s" % (value.device, ", requires grad" if value.requires_grad else "")
        else:
            d["bytes"] = int(value.nbytes)
            d["preview"] = _cut(" ".join(str(value).split())) if value.size <= 64 and value.dtype.kind in "biufc" else "array"
    elif _is(value, "numpy", "generic"):
        d["dtype"], d["shape"], d["bytes"], d["preview"] = str(value.dtype), [], int(value.nbytes), _cut(str(value))
    elif _is(value, "pandas", "DataFrame"):
        d["shape"], d["length"] = list(map(int, value.shape)), len(value)
        first = list(zip(value.columns, value.dtypes))[:12]
        d["preview"] = _cut("columns: " + ", ".join("%s %s" % (_plain(c).strip("'"), t) for c, t in first))
        d["bytes"] = int(value.memory_usage(deep=False).sum())
    elif _is(value, "pandas", "Series") or _is(value, "pandas", "Index"):
        d["shape"], d["dtype"], d["length"], d["bytes"] = list(map(int, value.shape)), str(value.dtype), len(value), int(value.nbytes)
        d["preview"] = _cut(_plain(list(value[:8])))
    elif _is(value, "PIL.Image", "Image"):
        d["shape"], d["dtype"] = [value.height, value.width], value.mode
        d["preview"] = "image %dx%d %s" % (value.width, value.height, value.mode)
    elif _is(value, "torch", "nn", "Module"):
        parameters = list(value.parameters())
        d["bytes"] = int(sum(p.numel() * p.element_size() for p in parameters))
        d["length"] = int(sum(p.numel() for p in parameters))
        d["preview"] = "%d parameters on %s" % (d["length"], ", ".join(sorted({str(p.device) for p in parameters})) or "nothing")
    elif kind in PLAIN or kind in (str, bytes, bytearray, list, tuple, set, frozenset, dict):
        if kind not in PLAIN:
            d["length"] = len(value)
        d["bytes"] = sys.getsizeof(value)
        d["preview"] = _plain(value)
    elif kind is type(sys):
        d["preview"] = "module " + str(getattr(value, "__name__", ""))
    elif callable(value) and kind.__module__ == "builtins" or isinstance(value, type):
        import inspect
        try:
            d["preview"] = _cut(getattr(value, "__name__", name) + str(inspect.signature(value)))
        except Exception:
            d["preview"] = str(getattr(value, "__name__", name))
    else:
        d["preview"] = _own(value, left)
    return d

def main(shell, only):
    hidden, found, end = shell.user_ns_hidden, [], time.monotonic() + 2.0
    for name, value in list(shell.user_ns.items()):
        if (only is not None and name != only) or not isinstance(name, str) or name.startswith("_"):
            continue
        if name in hidden and hidden[name] is value or name in ("In", "Out", "exit", "quit", "get_ipython", "open"):
            continue
        try:
            found.append(_describe(name, value, end - time.monotonic()))
        except Exception as e:
            found.append({"name": name, "type": type(value).__name__, "module": "", "shape": None, "dtype": None, "length": None,
                          "bytes": None, "preview": "<it cannot be described: %s>" % type(e).__name__})
        if len(found) == 2000:
            break
    return json.dumps(found, default=str)
'''


async def variables(session: Session, name: Optional[str]) -> List[Dict[str, Any]]:
    """Of an idle kernel. With a name: that one alone, or Refused("not_found")."""
    if not session.kernel.alive:
        raise Refused("conflict", "the kernel is dead: %s" % session.message)
    if session.busy:
        raise Refused("conflict", "a cell runs: its variables can be asked for when it has ended")
    code = "(lambda d: (exec(%r, d), d['main'](get_ipython(), %r))[1])({})" % (SNIPPET, name)
    said = await setup_code.expression(session.kernel, code)
    try:
        found: List[Dict[str, Any]] = json.loads(ast.literal_eval(said))
    except (ValueError, SyntaxError):
        raise Refused("failed", "the kernel could not say what its variables are") from None
    if name is not None and not found:
        raise Refused("not_found", "there is no variable %s" % name)
    return found
