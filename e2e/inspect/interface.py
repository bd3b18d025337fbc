"""What the test of the tools serves."""

import sys
from dataclasses import dataclass
from typing import Optional

import numpy


@dataclass
class Span:
    start: int
    end: int
    inner: "Optional[Span]" = None


@expose
def scale(values: numpy.ndarray, by: float = 2.0) -> numpy.ndarray:
    """Scales an array.

    Args:
        values: what is scaled
    """
    print("printed in the sandbox")
    return values * by


@expose
def zeros(n: int) -> numpy.ndarray:
    return numpy.zeros(n)


@expose
def total(values: numpy.ndarray) -> dict:
    return {"sum": values.sum(), "nan": float("nan"), "raw": b"ab", "n": values.size}


@expose
def width(span: Span) -> int:
    return span.end - span.start


@expose
def join(first: str, /, *more: str, sep: str = "-", **options: str) -> str:
    return sep.join([first, *more, *options.values()])


@expose
def count(n: int):
    yield from range(n)


@expose
def fail(message: str) -> str:
    raise ValueError(message)


@expose
def picture() -> dict:
    from PIL import Image

    return {"shown": Image.new("RGB", (3, 2), (255, 0, 0))}


@expose
def die() -> None:
    sys.stdout.flush()
    import os

    os.kill(os.getpid(), 9)
