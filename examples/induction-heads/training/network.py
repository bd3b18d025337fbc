"""An attention-only transformer: the forward pass, and its gradient by hand.

No layer norm and no MLP: everything that the model does, attention heads do.
A position is never added to a word; instead every head learns how much it likes
to look one, two, three ... words back. It starts with a dislike of distance
that differs from head to head, for heads that start alike end up sharing the
work, and then none of them can be told from the others.

Shapes: B sequences, T positions, D width, H heads, K width of a head, V words.
"""

from __future__ import annotations

from typing import Dict, NamedTuple

import numpy as np

Weights = Dict[str, np.ndarray]

# How steeply the heads' liking falls with distance before training; which head
# gets which is drawn by lot.
REACH = (0.0, 0.1, 0.5, 2.0)


class Shape(NamedTuple):
    """The sizes of a model."""

    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int
    head_width: int


class _Attention(NamedTuple):
    """What the backward pass of a layer needs from its forward pass."""

    x: np.ndarray  # (B, T, D)  what the layer read
    q: np.ndarray  # (B, H, T, K)
    k: np.ndarray
    v: np.ndarray
    pattern: np.ndarray  # (B, H, T, T)
    z: np.ndarray  # (B, T, H*K)  what the heads gathered


def initial(shape: Shape, rng: np.random.Generator) -> Weights:
    """Random weights, float32."""

    def normal(rows: int, columns: int, scale: float) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * scale).astype(np.float32)

    inner = shape.heads * shape.head_width
    distances = np.arange(shape.context, dtype=np.float32)
    weights = {
        "embed": normal(shape.vocabulary, shape.width, shape.width**-0.5),
        "unembed": normal(shape.width, shape.vocabulary, shape.width**-0.5),
    }
    for layer in range(shape.layers):
        for name in ("query", "key", "value"):
            weights[f"layer.{layer}.{name}"] = normal(
                shape.width, inner, shape.width**-0.5
            )
        weights[f"layer.{layer}.output"] = normal(inner, shape.width, inner**-0.5)
        slopes = rng.permutation(REACH[: shape.heads]).astype(np.float32)
        weights[f"layer.{layer}.distance"] = -np.outer(slopes, distances)
    return weights


def forward(
    weights: Weights, shape: Shape, tokens: np.ndarray
) -> tuple[np.ndarray, list[_Attention], np.ndarray]:
    """Returns logits (B, T, V), what each layer did, and the last residual."""
    x = weights["embed"][tokens]
    done = []
    for layer in range(shape.layers):
        attention = _attend(weights, shape, layer, x)
        done.append(attention)
        x = x + attention.z @ weights[f"layer.{layer}.output"]
    return x @ weights["unembed"], done, x


def loss_and_gradient(
    weights: Weights, shape: Shape, tokens: np.ndarray
) -> tuple[float, Weights]:
    """Mean cross-entropy of each next word, and its gradient."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    logits, done, x = forward(weights, shape, inputs)
    loss, d_logits = _cross_entropy(logits, targets)

    gradient: Weights = {"unembed": _outer(x, d_logits)}
    dx = d_logits @ weights["unembed"].T
    for layer in reversed(range(shape.layers)):
        dx = dx + _attend_back(weights, shape, layer, done[layer], dx, gradient)
    gradient["embed"] = _scatter(inputs, dx, shape.vocabulary)
    return loss, gradient


def cross_entropy_each(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The loss of every prediction, (B, T)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normaliser = np.log(np.exp(shifted).sum(axis=-1))
    return normaliser - np.take_along_axis(shifted, targets[..., None], -1)[..., 0]


def _cross_entropy(logits, targets):
    each = cross_entropy_each(logits, targets)
    d_logits = _softmax(logits)
    picked = np.take_along_axis(d_logits, targets[..., None], -1)
    np.put_along_axis(d_logits, targets[..., None], picked - 1, -1)
    return float(each.mean()), d_logits / targets.size


def _attend(weights, shape, layer, x) -> _Attention:
    q = _split(x @ weights[f"layer.{layer}.query"], shape)
    k = _split(x @ weights[f"layer.{layer}.key"], shape)
    v = _split(x @ weights[f"layer.{layer}.value"], shape)
    scores = q @ k.transpose(0, 1, 3, 2) * np.float32(shape.head_width**-0.5)
    length = x.shape[1]
    scores += weights[f"layer.{layer}.distance"][:, _distances(length)]
    scores[..., np.triu(np.ones((length, length), dtype=bool), 1)] = -np.inf
    pattern = _softmax(scores)
    return _Attention(x, q, k, v, pattern, _join(pattern @ v))


def _attend_back(weights, shape, layer, done: _Attention, d_out, gradient: Weights):
    """Adds the layer's gradients and returns that of what it read."""
    name = f"layer.{layer}."
    gradient[name + "output"] = _outer(done.z, d_out)
    dz = _split(d_out @ weights[name + "output"].T, shape)

    d_pattern = dz @ done.v.transpose(0, 1, 3, 2)
    centred = d_pattern - (d_pattern * done.pattern).sum(axis=-1, keepdims=True)
    d_scores = done.pattern * centred
    gradient[name + "distance"] = _by_distance(d_scores.sum(axis=0), shape.context)
    d_scores *= np.float32(shape.head_width**-0.5)

    dq = _join(d_scores @ done.k)
    dk = _join(d_scores.transpose(0, 1, 3, 2) @ done.q)
    dv = _join(done.pattern.transpose(0, 1, 3, 2) @ dz)
    gradient[name + "query"] = _outer(done.x, dq)
    gradient[name + "key"] = _outer(done.x, dk)
    gradient[name + "value"] = _outer(done.x, dv)

    return (
        dq @ weights[name + "query"].T
        + dk @ weights[name + "key"].T
        + dv @ weights[name + "value"].T
    )


def _distances(length: int) -> np.ndarray:
    """How far back each key is from each query, (T, T); 0 for later ones."""
    steps = np.arange(length)
    return np.maximum(steps[:, None] - steps[None, :], 0)


def _by_distance(d_scores: np.ndarray, context: int) -> np.ndarray:
    """Sums (H, T, T) along its diagonals: (H, context)."""
    heads, length, _ = d_scores.shape
    sums = np.zeros((heads, context), dtype=d_scores.dtype)
    for distance in range(length):
        sums[:, distance] = np.trace(d_scores, -distance, axis1=1, axis2=2)
    return sums


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def _split(x: np.ndarray, shape: Shape) -> np.ndarray:
    batch, length, _ = x.shape
    parts = x.reshape(batch, length, shape.heads, shape.head_width)
    return np.ascontiguousarray(parts.transpose(0, 2, 1, 3))


def _join(x: np.ndarray) -> np.ndarray:
    batch, _, length, _ = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, -1)


def _outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


def _scatter(tokens: np.ndarray, dx: np.ndarray, vocabulary: int) -> np.ndarray:
    """Sums dx by token: the gradient of a look-up. A product is far quicker
    than np.add.at."""
    one_hot = np.zeros((tokens.size, vocabulary), dtype=dx.dtype)
    one_hot[np.arange(tokens.size), tokens.ravel()] = 1
    return one_hot.T @ dx.reshape(-1, dx.shape[-1])
