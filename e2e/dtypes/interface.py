"""Functions that take and return tensors, in a sandbox whose Python has torch."""

import dataclasses

import numpy as np
import torch


@dataclasses.dataclass
class Layer:
    name: str
    weights: torch.Tensor


@expose
def made(dtype: str) -> dict:
    """A tensor of a dtype in several shapes."""
    t = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, dtype))
    shapes = {"whole": t, "strided": t[:, ::2].transpose(0, 2), "empty": t[:0], "number": t[1, 1, 1]}
    return {**shapes, "nested": [{"same": t}, Layer("a", t)]}


@expose
def seen(value):
    """What an argument is here."""
    return f"{type(value).__module__}.{type(value).__name__} {getattr(value, 'dtype', '')}"


@expose
def same(value: torch.Tensor) -> torch.Tensor:
    return value


@expose
def as_array(value: np.ndarray) -> np.ndarray:
    return value


@expose
def scaled(factor: float) -> float:
    return factor * 2


@expose
def layers(count: int):
    """Yields tensors."""
    for number in range(count):
        yield torch.full((2, 2), number, dtype=torch.bfloat16)


@expose
def states() -> list:
    """Hidden states, as a model returns them."""
    return [torch.full((4, 8), float(number), dtype=torch.bfloat16, requires_grad=True) for number in range(3)]


@expose
def sparse() -> torch.Tensor:
    return torch.eye(3).to_sparse()


@expose
def fails():
    raise ValueError("no", torch.zeros(2))
