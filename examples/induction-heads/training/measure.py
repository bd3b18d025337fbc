"""The figures of the model card, measured on sequences never trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import data, network
from .network import Shape, Weights

_SEED = 20_000  # far from any seed that train.py is given
_SEQUENCES = 256


def figures(weights: Weights, shape: Shape) -> dict[str, Any]:
    """Loss, copy accuracy, and what each head does and is worth."""
    rng = np.random.default_rng(_SEED)
    repeats = data.repeated_segments(rng, _SEQUENCES, shape.context, shape.vocabulary)
    plain = data.no_repeats(rng, _SEQUENCES, shape.context, shape.vocabulary)
    logits, layers, _ = network.forward(weights, shape, repeats.tokens[:, :-1])
    whole = _outcome(logits, repeats)
    return {
        "parameters": int(sum(w.size for w in weights.values())),
        "sequences": _SEQUENCES,
        "loss": whole,
        "accuracy_without_repeats": _accuracy(weights, shape, plain),
        "uniform_loss": float(np.log(shape.vocabulary - 1)),
        "each_head": _heads(weights, shape, repeats, [done.pattern for done in layers]),
    }


def ablated(weights: Weights, shape: Shape, layer: int, head: int) -> Weights:
    """The weights with one head's output set to zero."""
    name = f"layer.{layer}.output"
    output = weights[name].copy()
    output[head * shape.head_width : (head + 1) * shape.head_width] = 0
    return {**weights, name: output}


def _heads(weights, shape, batch, patterns) -> list[dict[str, Any]]:
    heads = []
    for layer in range(shape.layers):
        for head in range(shape.heads):
            without = ablated(weights, shape, layer, head)
            logits, _, _ = network.forward(without, shape, batch.tokens[:, :-1])
            heads.append(
                {
                    "layer": layer,
                    "head": head,
                    **_scores(patterns[layer][:, head], batch),
                    "ablated": _outcome(logits, batch),
                }
            )
    return heads


def _scores(pattern: np.ndarray, batch: data.Batch) -> dict[str, float]:
    """How much of a head's attention goes where an induction head's, a
    previous-word head's and a same-word head's would."""
    tokens = batch.tokens[:, :-1]
    copying = batch.copied[:, 1:]  # here the next word can be known
    same = np.tril(tokens[:, :, None] == tokens[:, None, :], -1)
    after = np.zeros_like(same)
    after[:, :, 1:] = same[:, :, :-1]
    steps = np.arange(1, tokens.shape[1])
    return {
        "induction": float((pattern * after).sum(axis=-1)[copying].mean()),
        "previous": float(pattern[:, steps, steps - 1].mean()),
        "self": float(np.trace(pattern, axis1=1, axis2=2).mean() / tokens.shape[1]),
    }


def _outcome(logits: np.ndarray, batch: data.Batch) -> dict[str, float]:
    targets, copied = batch.tokens[:, 1:], batch.copied[:, 1:]
    each = network.cross_entropy_each(logits, targets)
    right = logits.argmax(axis=-1) == targets
    return {
        "copied": float(each[copied].mean()),
        "other": float(each[~copied].mean()),
        "accuracy_copied": float(right[copied].mean()),
        "accuracy_other": float(right[~copied].mean()),
    }


def _accuracy(weights: Weights, shape: Shape, batch: data.Batch) -> float:
    logits, _, _ = network.forward(weights, shape, batch.tokens[:, :-1])
    return float((logits.argmax(axis=-1) == batch.tokens[:, 1:]).mean())
