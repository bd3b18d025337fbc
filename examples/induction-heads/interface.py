"""A small attention-only transformer, opened up for looking inside.

Wherever a function takes `tokens`, give it text ("fox river fox") or a list of
token ids. Text gets the start token <bos> in front; ids are taken as they are.

Wherever a function takes `ablate`, give it the heads to switch off during this
one call, as [layer, head] pairs: ablate=[[1, 0], [1, 2]]. Layers, heads and
positions count from 0. Arrays arrive as arrays.
"""

import json
import struct
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

import numpy as np

folder = Path(get_model_path("./model"))
config = json.loads((folder / "config.json").read_text())
vocabulary = (folder / "vocab.txt").read_text().split()
token_ids = {word: token for token, word in enumerate(vocabulary)}


def _read_safetensors(path: Path) -> Dict[str, np.ndarray]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(data[begin:end], dtype="<f4")
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


weights = _read_safetensors(folder / "model.safetensors")


@expose
def get_model_info() -> Dict[str, Any]:
    """Describe the model.

    Returns its sizes (`layers`, `heads` of each layer, `width` of the residual
    stream, `head_width`, `context` in tokens), the number of `parameters`, and the
    `vocabulary`: all words, in order of their ids.
    """
    sizes = ("layers", "heads", "width", "head_width", "context")
    parameters = sum(int(tensor.size) for tensor in weights.values())
    return {
        "architecture": config["architecture"],
        **{size: config[size] for size in sizes},
        "parameters": parameters,
        "vocabulary": vocabulary,
    }


@expose
def predict(
    tokens: Union[str, List[int]],
    *,
    top_k: int = 5,
    ablate: Optional[List[List[int]]] = None,
) -> List[Dict[str, Any]]:
    """Predict the word that comes next.

    Returns the `top_k` likeliest words, likeliest first, each with its `word`,
    `token` id and `probability`.
    """
    if not 1 <= top_k <= len(vocabulary):
        raise ValueError(f"top_k must be from 1 to {len(vocabulary)}, not {top_k}")
    run = _run(_ids(tokens), ablate)
    probabilities = _softmax(run.logits[-1])
    likeliest = np.argsort(-probabilities, kind="stable")[:top_k]
    return [
        {
            "word": vocabulary[token],
            "token": int(token),
            "probability": float(probabilities[token]),
        }
        for token in likeliest
    ]


@expose
def continue_text(tokens: Union[str, List[int]], words: int = 8) -> Iterator[str]:
    """Let the model write on, always its likeliest word, each as it is found."""
    ids = _ids(tokens)
    for _ in range(words):
        token = int(_run(ids[-config["context"] :], None).logits[-1].argmax())
        ids.append(token)
        yield vocabulary[token]


@expose
def loss_by_position(
    tokens: Union[str, List[int]], *, ablate: Optional[List[List[int]]] = None
) -> Dict[str, Any]:
    """Let the model guess each token from those before it.

    For T tokens, everything has T - 1 entries, of which entry i is about token
    i + 1: the right `words`, the `predicted` words, and as arrays whether they were
    `correct`, and the `loss` in nats.
    """
    ids = _ids(tokens)
    if len(ids) < 2:
        raise ValueError("there is nothing to guess: give at least two tokens")
    logits, targets = _run(ids, ablate).logits[:-1], np.array(ids[1:])
    right = np.log(_softmax(logits)[np.arange(len(targets)), targets])
    guesses = logits.argmax(axis=-1)
    return {
        "words": [vocabulary[token] for token in targets],
        "predicted": [vocabulary[token] for token in guesses],
        "correct": guesses == targets,
        "loss": -right,
    }


@expose
def attention_patterns(
    tokens: Union[str, List[int]], *, ablate: Optional[List[List[int]]] = None
) -> np.ndarray:  # (layer, head, T, T)
    """Show where all heads look.

    [layer, head, i, j] is how much of its attention a head gives, at position i, to
    position j. A row sums to 1, and is 0 after position i.
    """
    return np.stack(_run(_ids(tokens), ablate).patterns)


@expose
def activations(
    tokens: Union[str, List[int]],
    layer: int,
    *,
    ablate: Optional[List[List[int]]] = None,
) -> np.ndarray:  # (T, width)
    """Read the residual stream.

    Layer 0 is what the first layer reads (the embeddings), layer 1 what the second
    reads, and so on; the last one is what the prediction is made from.
    """
    _check("layer", layer, config["layers"] + 1)
    return _run(_ids(tokens), ablate).streams[layer]


@expose
def logit_lens(
    stream: np.ndarray,  # (T, width)
) -> List[str]:
    """Tell what a residual stream would predict at each position if no layer followed."""
    if stream.ndim != 2 or stream.shape[1] != config["width"]:
        raise ValueError(
            f"stream must have the shape (T, {config['width']}), not {stream.shape}"
        )
    return [vocabulary[token] for token in (stream @ weights["unembed"]).argmax(axis=1)]


# What follows is not exposed: nobody outside this file can call it.


class _Run(NamedTuple):
    """One pass through the model, over T tokens."""

    streams: List[np.ndarray]  # layers + 1 of (T, width)
    patterns: List[np.ndarray]  # layers of (heads, T, T)
    logits: np.ndarray  # (T, vocabulary)


def _run(ids: List[int], ablate: Optional[List[List[int]]]) -> _Run:
    off = _heads_off(ablate)
    x = weights["embed"][ids]
    streams, patterns = [x], []
    for layer in range(config["layers"]):
        pattern, gathered = _attend(layer, x)
        gathered[[head for of, head in off if of == layer]] = 0
        side_by_side = gathered.transpose(1, 0, 2).reshape(len(ids), -1)
        x = x + side_by_side @ weights[f"layer.{layer}.output"]
        streams.append(x)
        patterns.append(pattern)
    return _Run(streams, patterns, x @ weights["unembed"])


def _attend(layer: int, x: np.ndarray):
    """Returns the pattern (heads, T, T) and what is gathered (heads, T, head_width)."""
    q, k, v = (
        _by_head(x @ weights[f"layer.{layer}.{n}"]) for n in ("query", "key", "value")
    )
    steps = np.arange(len(x))
    back = steps[:, None] - steps[None, :]
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(config["head_width"]))
    scores = scores + weights[f"layer.{layer}.distance"][:, np.maximum(back, 0)]
    pattern = _softmax(np.where(back >= 0, scores, -np.inf))
    return pattern, pattern @ v


def _by_head(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), config["heads"], config["head_width"]).transpose(1, 0, 2)


def _softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _ids(tokens: Union[str, List[int]]) -> List[int]:
    if isinstance(tokens, str):
        words = tokens.split()
        unknown = sorted(set(words) - set(token_ids))
        if unknown:
            raise ValueError(
                f"not in the vocabulary: {', '.join(unknown)} (get_model_info lists it)"
            )
        ids = [token_ids[word] for word in words]
        ids = ids if words[:1] == [vocabulary[0]] else [0, *ids]
    else:
        ids = list(tokens)
        for token in ids:
            _check("token id", token, len(vocabulary))
    if not 1 <= len(ids) <= config["context"]:
        raise ValueError(
            f"the model reads 1 to {config['context']} tokens, and these are {len(ids)}"
        )
    return ids


def _heads_off(ablate: Optional[List[List[int]]]) -> List[List[int]]:
    for pair in ablate or []:
        if len(pair) != 2:
            raise ValueError(f"ablate wants [layer, head] pairs, not {pair}")
        _check("layer", pair[0], config["layers"])
        _check("head", pair[1], config["heads"])
    return ablate or []


def _check(what: str, value: int, count: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise ValueError(
            f"{what} must be a whole number from 0 to {count - 1}, not {value!r}"
        )
