"""The interface file of the documentation: self-contained, and only @expose, get_model_path and
list_configured_models are there without an import."""

import os

import torch
from transformers import AutoModel, AutoTokenizer

model_path = get_model_path("google/gemma-2-9b")
assert model_path == os.environ["MODEL_GOOGLE_GEMMA_2_9B_PATH"]
model = AutoModel.from_pretrained(model_path, device_map="auto")
tokenizer = AutoTokenizer.from_pretrained(model_path)

cache = {}


@expose
def get_model_info() -> dict:
    """Get basic model information."""
    return {
        "num_layers": model.config.num_hidden_layers,
        "hidden_size": model.config.hidden_size,
        "vocab_size": model.config.vocab_size,
    }


@expose
def get_embedding(text: str) -> dict:
    """Get text embedding from model."""
    inputs = tokenizer(text, return_tensors="pt").to(model.device)
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
    embedding = outputs.hidden_states[-1].mean(dim=1).squeeze()
    cache[text] = len(embedding)
    return {"embedding": embedding.tolist()}


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
def show_models():
    """Show all configured models."""
    return list_configured_models()


def _internal_helper():
    raise AssertionError("nobody calls it")
