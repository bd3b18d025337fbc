"""The pytest fixture seer_interface."""

import os
import sys
import types
from typing import Callable, Iterator

import pytest

from .testing import load_interface


@pytest.fixture
def seer_interface() -> Iterator[Callable[..., types.ModuleType]]:
    """seer_interface(path, models={name: path}) loads an interface file; the test leaves nothing of it behind."""
    environment, path, modules = dict(os.environ), list(sys.path), set(sys.modules)
    yield load_interface
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if hasattr(sys.modules[name], "list_configured_models"):  # only the interfaces: others may not bear a second import
            del sys.modules[name]
