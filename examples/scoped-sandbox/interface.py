"""Text embeddings from all-MiniLM-L6-v2. Runs in the sandbox, beside the model."""

import torch
from transformers import AutoModel, AutoTokenizer

model_path = get_model_path("./model")  # the name as it stands in seer.yaml
model = AutoModel.from_pretrained(model_path, device_map="auto")
tokenizer = AutoTokenizer.from_pretrained(model_path)


@expose
def get_model_info() -> dict:
    """Tell the number of layers, the size of an embedding and of the vocabulary."""
    return {
        "num_layers": model.config.num_hidden_layers,
        "hidden_size": model.config.hidden_size,
        "vocab_size": model.config.vocab_size,
    }


@expose
def get_embedding(text: str) -> torch.Tensor:  # (hidden_size,)
    """Turn a text into a vector: the mean of the last layer over its tokens.

    Texts that mean similar things have vectors that point in similar directions.
    """
    inputs = tokenizer(text, return_tensors="pt", truncation=True).to(model.device)
    with torch.no_grad():
        outputs = model(**inputs, output_hidden_states=True)
    return outputs.hidden_states[-1].mean(dim=1).squeeze(0)
