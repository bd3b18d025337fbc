"""A small language model whose residual stream can be read and written."""

from pathlib import Path
from typing import List, Optional

import numpy as np

weights = dict(np.load(Path(get_model_path("./model"), "weights.npz")))
words = [str(word) for word in weights.pop("words")]
weights = {name: weight.astype(np.float32) for name, weight in weights.items()}
context = weights["layer.0.distance"].shape[1]
layers = 2


@expose(read_only=True)
def vocabulary() -> List[str]:
    """List the words that the model knows. Its sentences are such as "the day was warm"."""
    return words[1:]


@expose(read_only=True)
def activations(texts: List[str], layer: int) -> np.ndarray:  # (texts, width)
    """Read the residual stream at the last word of each text.

    Layer 0 is the embeddings, 1 what the second layer reads, and 2 what the prediction is made from.
    """
    return np.stack([_run(_ids(text), layer)[0] for text in texts])


@expose(read_only=True)
def difference_of_means(
    positive: np.ndarray,  # (texts, width)
    negative: np.ndarray,  # (texts, width)
) -> np.ndarray:  # (width,)
    """Make a steering vector: the mean of some activations less the mean of others."""
    return positive.mean(axis=0) - negative.mean(axis=0)


@expose(read_only=True)
def probability(
    text: str,
    candidates: List[str],
    layer: int = 1,
    vector: Optional[np.ndarray] = None,
    strength: float = 1.0,
) -> float:
    """Tell how probable it is that the next word is one of the candidates.

    With a vector, strength times it is added to the residual stream at that layer, at all words.
    """
    _, after = _run(_ids(text), layer, vector, strength)
    return float(after[_ids(" ".join(candidates))[1:]].sum())


@expose(read_only=True)
def generate(
    text: str,
    count: int = 8,
    layer: int = 1,
    vector: Optional[np.ndarray] = None,
    strength: float = 1.0,
) -> str:
    """Continue a text by its likeliest words, steered as in `probability`."""
    ids = _ids(text)
    for _ in range(min(count, context - len(ids))):
        ids.append(int(_run(ids, layer, vector, strength)[1].argmax()))
    return " ".join(words[i] for i in ids[1:])


# What follows is not exposed.


def _run(
    ids: List[int],
    at: int,
    vector: Optional[np.ndarray] = None,
    strength: float = 1.0,
):
    """Returns the stream at the last word (width,) at a layer, and the next word's probabilities."""
    if not 0 <= at <= layers:
        raise ValueError(f"layer must be from 0 to {layers}, not {at}")
    x = weights["embed"][ids]
    steps = np.arange(len(ids))
    back = steps[:, None] - steps
    for layer in range(layers + 1):
        if layer == at:
            x = x if vector is None else x + np.float32(strength) * vector
            read = x[-1]
        if layer == layers:
            break
        q, k, v = (
            x @ weights[f"layer.{layer}.{name}"] for name in ("query", "key", "value")
        )
        scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
        scores += weights[f"layer.{layer}.distance"][0, np.maximum(back, 0)]
        pattern = _softmax(np.where(back >= 0, scores, -np.inf))
        x = x + pattern @ v @ weights[f"layer.{layer}.output"]
    return read, _softmax(x[-1] @ weights["unembed"])


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _ids(text: str) -> List[int]:
    unknown = sorted(set(text.split()) - set(words))
    if unknown:
        raise ValueError(f"not in the vocabulary: {', '.join(unknown)}")
    ids = [0, *(words.index(word) for word in text.split())]
    if len(ids) > context:
        raise ValueError(f"a text has at most {context - 1} words")
    return ids
