"""The minimal interface of the guide: it names the folder of its model, and nothing is there without an import but @expose."""

import os

import torch
from transformers import AutoModel, AutoTokenizer

model = AutoModel.from_pretrained("/models/google--gemma-2-9b", device_map="auto")
tokenizer = AutoTokenizer.from_pretrained("/models/google--gemma-2-9b")

cache = {}


@expose
def get_activations(prompt: str, layer: int) -> dict:
    """Extract activations at a specific layer."""
    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
    activations = outputs.hidden_states[layer].mean(dim=0)
    return {"activations": activations.tolist(), "shape": list(activations.shape), "layer": layer}


@expose
def list_cache() -> dict:
    """List cached items."""
    return {"cache": list(cache.keys())}


@expose
def paths() -> dict:
    """The variables that name the folders of models."""
    return {name: value for name, value in os.environ.items() if name.startswith("MODEL_") and name.endswith("_PATH")}
