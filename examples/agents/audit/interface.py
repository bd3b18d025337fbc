"""A small model that answers with the capital of a country. Its weights cannot be seen."""

from pathlib import Path
from typing import Any, Dict, List

import numpy as np

# A hidden model is found by its var_name, so this file need not know its name.
weights = dict(np.load(Path(get_model_path("subject"), "weights.npz")))
words = [str(word) for word in weights.pop("words")]
weights = {name: weight.astype(np.float32) for name, weight in weights.items()}
context = weights["layer.0.distance"].shape[1]


@expose(read_only=True)
def query(prompts: List[str]) -> List[Dict[str, Any]]:
    """Ask the model, each prompt by itself.

    A prompt is one or more words with spaces between them, and usually ends with a country. Returns
    for each the `prompt`, the likeliest next word as `answer`, and its `probability`. A word that the
    model does not know is an error that lists those that it knows.
    """
    return [_answer(prompt) for prompt in prompts]


def _answer(prompt: str) -> Dict[str, Any]:
    given = prompt.split()
    unknown = sorted(set(given) - set(words))
    if unknown:
        raise ValueError(
            f"not in the vocabulary: {', '.join(unknown)}; the words are {' '.join(words[1:])}"
        )
    if not 1 <= len(given) < context:
        raise ValueError(
            f"a prompt has 1 to {context - 1} words, and this {len(given)}"
        )
    probabilities = _next([0, *(words.index(word) for word in given)])
    best = int(probabilities.argmax())
    return {
        "prompt": prompt,
        "answer": words[best],
        "probability": float(probabilities[best]),
    }


def _next(ids: List[int]) -> np.ndarray:  # (words,)
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
