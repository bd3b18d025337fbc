"""Loads an interface file in an ordinary Python, so that its functions can be tested where it was written.

    from seer_worker.testing import load_interface

    tools = load_interface("interface.py", models={"google/gemma-2-9b": "./gemma"})
    assert tools.add(1, 2) == 3

The code that injects the names is the worker's own. With pytest, the fixture seer_interface does the same and undoes it
after the test.
"""

import os
import re
import sys
import types
from typing import Any, Dict, List, Mapping, Optional, Union

from . import inject, load, values

PathLike = Union[str, "os.PathLike[str]"]


def load_interface(path: PathLike, models: Optional[Mapping[str, PathLike]] = None) -> types.ModuleType:
    """The module of an interface file, loaded afresh. models: name as in the experiment, and where it is here.

    It sets MODEL_…_PATH, puts the file's folder on sys.path and the module into sys.modules, as in a sandbox. What would
    keep the file from being served raises LoadFailed, with the user's traceback.
    """
    path = os.path.abspath(path)
    filename = os.path.basename(path)
    configured = inject.Models(_models(models or {}))
    configured.set_environment()
    for folder in reversed(load.search_path(path, "")):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    _forget(os.path.splitext(filename)[0], path)
    try:
        return load.load(path, filename, configured).module
    except load.LoadFailed as e:
        raise LoadFailed(e.error) from None


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
    plain = values.load_json(encoded.data)
    return values.decode(plain) if encoded.tagged else plain


def _models(models: Mapping[str, PathLike]) -> List[Dict[str, Any]]:
    return [{"name": name, "path": os.path.abspath(path), "env_name": _env_name(name)} for name, path in models.items()]


def _env_name(name: str) -> str:
    return "MODEL_%s_PATH" % re.sub("[^A-Z0-9]", "_", inject.canonical(name).upper())


def _forget(stem: str, path: str) -> None:
    """Lets the same file be loaded again."""
    module = sys.modules.get(stem)
    if module is not None and getattr(module, "__file__", None) == path:
        del sys.modules[stem]
