"""Two checkpoints of a small model, "before" and "after" some training."""

from pathlib import Path
from typing import List, Literal

import numpy as np

Checkpoint = Literal["before", "after"]


def _load(folder: str):
    tensors = dict(np.load(Path(folder, "weights.npz")))
    words = [str(word) for word in tensors.pop("words")]
    return words, {name: array.astype(np.float32) for name, array in tensors.items()}


words, before = _load(get_model_path("./before"))
_, after = _load(get_model_path("./after"))
checkpoints = {"before": before, "after": after}
context = before["layer.0.distance"].shape[1]


@expose(read_only=True)
def vocabulary() -> List[str]:
    """List the words that the models know. They answer a country with its capital."""
    return words[1:]


@expose(read_only=True)
def answer(checkpoint: Checkpoint, prompts: List[str]) -> List[str]:
    """Tell the likeliest next word of each prompt, such as "the capital of france"."""
    return [words[_next(checkpoint, prompt).argmax()] for prompt in prompts]


@expose(read_only=True)
def probability(checkpoint: Checkpoint, prompt: str, word: str) -> float:
    """Tell how probable a word is after a prompt."""
    return float(_next(checkpoint, prompt)[_ids(word)[1]])


@expose(read_only=True)
def divergence(prompt: str) -> float:
    """Tell how much the prediction has changed: KL(before, after), in nats."""
    p, q = (_next(name, prompt).astype(float) for name in ("before", "after"))
    return float(np.sum(p * np.log(np.maximum(p, 1e-30) / np.maximum(q, 1e-30))))


@expose(read_only=True)
def tensors() -> List[str]:
    """List the names of the weights."""
    return sorted(before)


@expose(read_only=True)
def change(tensor: str) -> float:
    """Tell how far a tensor has moved: the norm of its change over its norm before."""
    if tensor not in before:
        raise ValueError(f"no tensor {tensor}; there are {', '.join(tensors())}")
    moved = np.linalg.norm(after[tensor] - before[tensor])
    return float(moved / np.linalg.norm(before[tensor]))


# What follows is not exposed.


def _next(checkpoint: str, prompt: str) -> np.ndarray:  # (words,)
    weights, ids = checkpoints[checkpoint], _ids(prompt)
    x = weights["embed"][ids]
    steps = np.arange(len(ids))
    back = steps[:, None] - steps
    for layer in range(2):
        q, k, v = (
            x @ weights[f"layer.{layer}.{name}"] for name in ("query", "key", "value")
        )
        scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
        scores += weights[f"layer.{layer}.distance"][0, np.maximum(back, 0)]
        pattern = _softmax(np.where(back >= 0, scores, -np.inf))
        x = x + pattern @ v @ weights[f"layer.{layer}.output"]
    return _softmax(x[-1] @ weights["unembed"])


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _ids(text: str) -> List[int]:
    given = text.split()
    unknown = sorted(set(given) - set(words))
    if unknown or not 1 <= len(given) < context:
        raise ValueError(
            f"not in the vocabulary: {', '.join(unknown)}"
            if unknown
            else f"a prompt has 1 to {context - 1} words, and this {len(given)}"
        )
    return [0, *(words.index(word) for word in given)]
