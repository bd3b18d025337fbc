"""Leaves out of the start of the server what takes long and is hardly ever needed."""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import Any

# jsonschema imports it to check international addresses (IRIs), which no schema of Jupyter's has; it builds a
# parser from its grammar while it is imported, and that takes longer than everything else in Jupyter.
_SYNTAX = "rfc3987_syntax"


def main(socket_fd: int, private: str, parent: int) -> None:
    """The server, as server.main has it."""
    syntax()
    from . import server  # not before: it imports Jupyter

    server.main(socket_fd, private, parent)


def syntax() -> None:
    """Lets rfc3987_syntax, where it is installed, be imported in no time; it does its work when it is first asked something."""
    if _SYNTAX in sys.modules:
        return
    spec = importlib.util.find_spec(_SYNTAX)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    loader = spec.loader
    lock = threading.RLock()  # what is imported in the work may ask again
    working = False

    def whole() -> None:
        """Does the work, once: threads that come meanwhile wait, and after a failure the next one tries again."""
        nonlocal working
        with lock:
            if working or module.__dict__.get("__getattr__") is not other:
                return
            working = True
            try:
                loader.exec_module(module)
                del module.__dict__["__getattr__"]
            finally:
                working = False

    def is_valid_syntax(*args: Any, **kwargs: Any) -> Any:
        if module.__dict__.get("is_valid_syntax") is is_valid_syntax:
            whole()
        return module.is_valid_syntax(*args, **kwargs)

    def other(name: str) -> Any:
        if not name.startswith("__"):  # which import itself asks for
            whole()
        if name in module.__dict__:
            return module.__dict__[name]
        raise AttributeError("module %r has no attribute %r" % (_SYNTAX, name))

    module.__dict__.update(is_valid_syntax=is_valid_syntax, __getattr__=other)
    sys.modules[_SYNTAX] = module
