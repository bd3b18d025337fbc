"""Names of a package that are imported when they are first used.

``import asyncio`` and ``import dataclasses`` alone take longer than Python needs to start.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # module typing would be half of the time of all imports
if TYPE_CHECKING:
    from typing import Any, Callable


def names(package: str, all: list[str], modules: tuple[str, ...]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package. Each name of ``all`` is in one of the modules,
    which are imported in their order until it is found."""
    here = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name in all:
            for module in modules:
                found = vars(__import__(f"{package}.{module}", fromlist=["*"]))
                if name in found:
                    here[name] = found[name]
                    return found[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*here, *all})
