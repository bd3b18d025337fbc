"""Activations of a small language model, as in the first guide, without torch."""

import os
from pathlib import Path
from typing import Any, Dict, List

import numpy as np

# Setup: load the model explicitly. The variable has the same folder.
model_path = get_model_path("./tiny-lm")
assert model_path == os.environ["MODEL_TINY_LM_PATH"]
weights = dict(np.load(Path(model_path, "weights.npz")))
words = [str(word) for word in weights.pop("words")]
weights = {name: weight.astype(np.float32) for name, weight in weights.items()}
layers = 2

# State: variables of the module stay between calls.
cache: Dict[str, np.ndarray] = {}


@expose(read_only=True)
def get_activations(prompt: str, layer: int) -> Dict[str, Any]:
    """Extract activations at a specific layer: their mean over the words of the prompt.

    Layer 0 is the embeddings, 1 and 2 are what follows the first and second layer. The prompt has
    words such as "the day was warm".
    """
    key = f"{prompt} @ {layer}"
    if key not in cache:
        cache[key] = _hidden_states(prompt, layer).mean(axis=0)
    activations = cache[key]
    return {
        "activations": activations.tolist(),
        "shape": list(activations.shape),
        "layer": layer,
    }


@expose(read_only=True)
def similarity(a: str, b: str, layer: int) -> float:
    """Tell the cosine of the activations of two prompts that are in the cache."""
    missing = [p for p in (a, b) if f"{p} @ {layer}" not in cache]
    if missing:
        raise KeyError(f"not in the cache at layer {layer}: {', '.join(missing)}")
    x, y = cache[f"{a} @ {layer}"], cache[f"{b} @ {layer}"]
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


@expose(read_only=True)
def list_cache() -> Dict[str, List[str]]:
    """List cached items."""
    return {"cache": list(cache)}


@expose(read_only=True)
def show_models() -> List[Dict[str, Any]]:
    """Show all configured models."""
    return list_configured_models()


# Private helpers (not exposed)


def _hidden_states(prompt: str, at: int) -> np.ndarray:  # (words + 1, width)
    unknown = sorted(set(prompt.split()) - set(words))
    if unknown:
        raise ValueError(f"not in the vocabulary: {', '.join(unknown)}")
    if not 0 <= at <= layers:
        raise ValueError(f"layer must be from 0 to {layers}, not {at}")
    ids = [0, *(words.index(word) for word in prompt.split())]
    x = weights["embed"][ids]
    steps = np.arange(len(ids))
    back = steps[:, None] - steps
    for layer in range(at):
        q, k, v = (
            x @ weights[f"layer.{layer}.{name}"] for name in ("query", "key", "value")
        )
        scores = q @ k.T / np.sqrt(np.float32(q.shape[1]))
        scores += weights[f"layer.{layer}.distance"][0, np.maximum(back, 0)]
        scores = np.where(back >= 0, scores, -np.inf)
        pattern = np.exp(scores - scores.max(axis=-1, keepdims=True))
        pattern /= pattern.sum(axis=-1, keepdims=True)
        x = x + pattern @ v @ weights[f"layer.{layer}.output"]
    return x
