"""Loads an interface file the way Python loads a module, with three names added."""

import hashlib
import io
import os
import sys
import tokenize
import types
from typing import Any, Dict, List, NamedTuple

from ..process.interrupts import Interrupted
from ..schema.validate import Binder, prepare
from ..transport.errors import CallErrorDict, InterfaceError, Script, call_error, from_exception
from ..values import type_name
from . import inject


class Interface(NamedTuple):
    module: types.ModuleType
    registry: inject.Registry
    script: Script
    code_hash: str
    binders: Dict[str, Binder]  # by the name of the function


class LoadFailed(Exception):
    """The file cannot be served; error is the reason as the user should see it."""

    def __init__(self, error: CallErrorDict) -> None:
        super().__init__(error["message"])
        self.error = error


def load(path: str, filename: str, models: inject.Models, datasets: inject.Datasets) -> Interface:
    """Runs the file. Only LoadFailed comes out, and whatever interrupts it from outside."""
    code = read(path, filename)
    script = Script(path, filename, decode(code))
    registry = inject.Registry()
    module = _new_module(script, inject.names(registry, models, datasets))
    try:
        exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)
        check(registry, filename)
        binders = {name: prepare(f, registry.options[name]) for name, f in registry.functions.items()}
    except BaseException as e:
        sys.modules.pop(module.__name__, None)
        raise failure(e, script) from None
    finally:
        registry.close()
    return Interface(module, registry, script, "sha256:" + hashlib.sha256(code).hexdigest(), binders)


def read(path: str, filename: str) -> bytes:
    """The file as it lies there. LoadFailed if it cannot be read."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError as e:
        raise LoadFailed(call_error("load_failed", "%s cannot be read: %s" % (filename, e.strerror), type_name(type(e)))) from None


def failure(e: BaseException, script: Script) -> BaseException:
    """What load raises for e: LoadFailed, or e itself where that came from outside."""
    if isinstance(e, Interrupted):  # from outside, and not the file's fault
        return e
    error = from_exception("load_failed", e, script)
    if isinstance(e, SystemExit):
        error["message"] = "it called exit(%s) while it was loaded" % ("" if e.code is None else repr(e.code))
    return LoadFailed({**error, "message": _place(error["message"], script, e)})


def search_path(path: str, workdir: str) -> List[str]:
    """What comes before the rest of sys.path, as for a script that is started there."""
    return list(dict.fromkeys(p for p in (os.path.dirname(path), workdir) if p))


def decode(code: bytes) -> str:
    """Source text for tracebacks; that it cannot be decoded is for compile to say."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(code).readline)
        return io.TextIOWrapper(io.BytesIO(code), encoding).read()
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return code.decode("utf-8", "replace")


def _new_module(script: Script, names: Dict[str, Any]) -> types.ModuleType:
    stem = os.path.splitext(os.path.basename(script.filename))[0]
    if stem in sys.modules or stem in getattr(sys, "stdlib_module_names", sys.builtin_module_names):
        raise LoadFailed(call_error("load_failed", "%s has the name of a module of Python, which could then no longer be imported; "
                                    "rename the file" % script.filename, type_name(InterfaceError)))
    module = types.ModuleType(stem)
    module.__file__ = script.path
    module.__dict__.update(names)
    sys.modules[stem] = module  # for pickle, dataclasses, and helpers that import it
    return module


def check(registry: inject.Registry, filename: str) -> None:
    """InterfaceError if there is nothing to serve."""
    if not registry.functions:
        raise InterfaceError("%s exposes nothing; put @expose above the functions that may be called" % filename)


def _place(message: str, script: Script, exc: BaseException) -> str:
    line = script.line_of(exc)
    if line is None or isinstance(exc, SyntaxError):  # whose message says it already
        return message
    return "%s (%s, line %d)" % (message, script.filename, line)
