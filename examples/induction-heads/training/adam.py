"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Dict

import numpy as np

Weights = Dict[str, np.ndarray]


class Adam:
    """Changes the weights in place, one step at a time."""

    def __init__(self, weights: Weights, betas=(0.9, 0.98), decay: float = 0.0):
        self._weights = weights
        self._betas = betas
        self._decay = decay
        self._mean = {name: np.zeros_like(w) for name, w in weights.items()}
        self._square = {name: np.zeros_like(w) for name, w in weights.items()}
        self._steps = 0

    def step(self, gradient: Weights, rate: float) -> None:
        self._steps += 1
        first, second = self._betas
        correct_first = 1 - first**self._steps
        correct_second = 1 - second**self._steps
        for name, weight in self._weights.items():
            mean, square, grad = self._mean[name], self._square[name], gradient[name]
            mean += (1 - first) * (grad - mean)
            square += (1 - second) * (grad * grad - square)
            update = (mean / correct_first) / (np.sqrt(square / correct_second) + 1e-8)
            weight -= np.float32(rate) * (update + np.float32(self._decay) * weight)
