"""The functions of the guide to scoped sandboxes, with its names and fields, on a model of 17 kB."""

from pathlib import Path
from typing import Any, Dict

import numpy as np

model_path = get_model_path("./tiny-lm")  # noqa: F821
weights = dict(np.load(Path(model_path, "weights.npz")))
words = [str(word) for word in weights.pop("words")]


@expose  # noqa: F821
def get_model_info() -> Dict[str, Any]:
    """Get basic model information."""
    return {
        "num_layers": len({name.split(".")[1] for name in weights if name.startswith("layer.")}),
        "hidden_size": weights["embed"].shape[1],
        "vocab_size": len(words),
    }


@expose  # noqa: F821
def get_embedding(text: str) -> Dict[str, Any]:
    """Get text embedding from model."""
    ids = [words.index(word) if word in words else 0 for word in text.split()]
    return {"embedding": weights["embed"][ids].astype(np.float32).mean(axis=0).tolist()}
