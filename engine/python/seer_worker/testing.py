"""Loads an interface file in an ordinary Python, so that its functions can be tested where it was written.

    from seer_worker.testing import load_interface

    tools = load_interface("interface.py", models={"google/gemma-2-9b": "./gemma"})
    assert tools.add(1, 2) == 3

The code that injects the names is the worker's own. With pytest, the fixture seer_interface does the same and undoes it
after the test.
"""

import contextlib
import os
import re
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

from . import values
from .interface import inject, load

PathLike = Union[str, "os.PathLike[str]"]


def load_interface(
    path: PathLike, models: Optional[Mapping[str, PathLike]] = None, datasets: Optional[Mapping[str, PathLike]] = None,
) -> types.ModuleType:
    """The module of an interface file, loaded afresh. models, datasets: name as in the experiment, and where it is here.

    It sets MODEL_…_PATH and DATASET_…_PATH, puts the file's folder on sys.path and the module into sys.modules, as in a sandbox. What would
    keep the file from being served raises LoadFailed, with the user's traceback.
    """
    path = os.path.abspath(path)
    filename = os.path.basename(path)
    configured = inject.Models(_configured(models or {}, "MODEL"))
    sets = inject.Datasets(_configured(datasets or {}, "DATASET"))
    configured.set_environment()
    sets.set_environment()
    for folder in reversed(load.search_path(path, "")):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    _forget(os.path.splitext(filename)[0])
    try:
        return load.load(path, filename, configured, sets).module
    except load.LoadFailed as e:
        if e.error.get("type") == "KeyboardInterrupt":  # here it is Ctrl-C
            raise KeyboardInterrupt from None
        raise LoadFailed(e.error) from None


@contextlib.contextmanager
def interfaces() -> Iterator[Callable[..., types.ModuleType]]:
    """load_interface for a while: afterwards the environment, sys.path and sys.modules are as before."""
    environment, path, modules = dict(os.environ), list(sys.path), set(sys.modules)
    try:
        yield load_interface
    finally:
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            _forget(name)


class LoadFailed(Exception):
    """The file could not be served."""

    def __init__(self, error: Dict[str, Any]) -> None:
        super().__init__("\n".join(part.rstrip() for part in (error["message"], error.get("traceback", "")) if part))
        self.error = error


def as_sent(value: Any) -> Any:
    """What a caller gets for a result: tuples have become lists, and so on. Raises TypeError for what cannot be sent."""
    try:
        encoded = values.encode(value)
    except values.Unserialisable as e:
        raise TypeError(e.at("result")) from None
    return values.decode([encoded.data, *map(_own, encoded.buffers)], encoded.tagged, tensors=True)


def _own(buffer: values.Buffer) -> bytearray:
    """A copy, as what has travelled is."""
    return bytearray(buffer)


def _configured(folders: Mapping[str, PathLike], what: str) -> List[Dict[str, Any]]:
    return [{"name": name, "path": os.path.abspath(path), "env_name": _env_name(name, what)} for name, path in folders.items()]


def _env_name(name: str, what: str) -> str:
    return "%s_%s_PATH" % (what, re.sub("[^A-Z0-9]", "_", inject.canonical(name).upper()))


def _forget(name: str) -> None:
    """Only an interface, be it this file or one of the same name elsewhere: others may not bear a second import."""
    if hasattr(sys.modules.get(name), "list_configured_models"):
        del sys.modules[name]
