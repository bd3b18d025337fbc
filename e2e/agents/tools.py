"""What agents may do in this test."""

import sys
import threading

import numpy as np
from PIL import Image


@expose(title="Add", read_only=True)  # noqa: F821
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@expose  # noqa: F821
def embed(n: int) -> np.ndarray:
    """A large array."""
    return np.arange(n * 64, dtype=np.float32).reshape(n, 64)


@expose  # noqa: F821
def total(xs: np.ndarray) -> float:
    """The sum of an array."""
    return float(np.sum(xs, dtype=np.float64))


@expose  # noqa: F821
def plot() -> Image.Image:
    """A red square."""
    return Image.new("RGB", (8, 8), (255, 0, 0))


over = threading.Event()


@expose  # noqa: F821
def train(steps: int) -> str:
    """Draws a bar as tqdm does, and its end again and again until finish is called."""
    over.clear()
    i = 0
    while not (over.wait(0.1) and i == steps):
        i = min(i + 1, steps)
        print(f"\r{i * 100 // steps:3d}%|{'#' * i:<8}| {i}/{steps} [loss {i}]", end="", file=sys.stderr, flush=True)
    print("\ntrained", flush=True)
    return "trained"


@expose(concurrent=True)  # noqa: F821
def finish() -> None:
    """Lets train come to its end."""
    over.set()


@expose  # noqa: F821
def fail() -> None:
    """Fails."""
    raise ValueError("no layer 9")
