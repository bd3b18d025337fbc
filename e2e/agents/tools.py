"""What agents may do in this test."""

import sys
import time

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


@expose  # noqa: F821
def train(steps: int, pause: float) -> str:
    """Takes a while, and draws a bar as tqdm does."""
    for i in range(steps + 1):
        print(f"\r{i * 100 // steps:3d}%|{'#' * i:<8}| {i}/{steps} [loss {i}]", end="", file=sys.stderr, flush=True)
        time.sleep(pause)
    print("\ntrained", flush=True)
    return "trained"


@expose  # noqa: F821
def fail() -> None:
    """Fails."""
    raise ValueError("no layer 9")
