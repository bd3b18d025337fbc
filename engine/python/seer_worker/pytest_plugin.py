"""The pytest fixture seer_interface."""

import types
from typing import Callable, Iterator

import pytest

from .testing import interfaces


@pytest.fixture
def seer_interface() -> Iterator[Callable[..., types.ModuleType]]:
    """seer_interface(path, models={name: path}, datasets={name: path}) loads an interface file; the test leaves nothing of it behind."""
    with interfaces() as load:
        yield load
