"""Leaves out of the start of the server what takes long and is hardly ever needed."""

from __future__ import annotations

import importlib.util
import sys
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

    def whole() -> None:
        module.__dict__.pop("__getattr__", None)
        loader.exec_module(module)

    def is_valid_syntax(*args: Any, **kwargs: Any) -> Any:
        if module.__dict__.get("is_valid_syntax") is is_valid_syntax:
            whole()
        return module.is_valid_syntax(*args, **kwargs)

    def other(name: str) -> Any:
        if name.startswith("__"):  # what import itself asks for
            raise AttributeError(name)
        whole()
        return getattr(module, name)

    module.__dict__.update(is_valid_syntax=is_valid_syntax, __getattr__=other)
    sys.modules[_SYNTAX] = module
