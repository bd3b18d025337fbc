"""What the benchmarks of values, streams and many clients serve."""

import time
from typing import Iterator, List

import numpy as np

_arrays = {}


@expose(concurrent=True)  # noqa: F821
def echo(text: str) -> str:
    """Return what came; safe beside others."""
    return text


@expose  # noqa: F821
def back(values: np.ndarray) -> np.ndarray:
    """Return the array that came."""
    return values


@expose  # noqa: F821
def listed(values: List[float]) -> List[float]:
    """The same as lists of numbers."""
    return values


@expose  # noqa: F821
def ones(count: int) -> np.ndarray:
    """An array of float32 that is there already."""
    if count not in _arrays:
        _arrays.clear()
        _arrays[count] = np.ones(count, dtype=np.float32)
    return _arrays[count]


@expose  # noqa: F821
def tokens(text: str, count: int) -> Iterator[str]:
    """A stream that begins at once."""
    for _ in range(count):
        yield text


@expose  # noqa: F821
def memory() -> int:
    """The most memory that the worker has had, in KiB; starts to count anew."""
    with open("/proc/self/status") as f:
        peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    return peak


@expose  # noqa: F821
def wait(seconds: float) -> None:
    """Keep everybody waiting."""
    time.sleep(seconds)
