"""The engine's process, and the thread that speaks to it."""

from . import loop
from .blocking import blocking
from .process import engine

__all__ = ["blocking", "engine", "loop"]
