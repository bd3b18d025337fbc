"""Served in a sandbox: the model of bare.py."""

import time

BEGUN = time.time()

import torch  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IMPORTED = time.time()
FOLDER = get_model_path("model")  # noqa: F821 - it is there in an interface
model = AutoModelForCausalLM.from_pretrained(FOLDER, device_map=DEVICE, torch_dtype="auto")
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
LOADED = time.time()


@expose  # noqa: F821
def token(text: str) -> dict:
    """The next token, and what came before."""
    with torch.no_grad():
        found = int(model(**tokenizer(text, return_tensors="pt").to(DEVICE)).logits[0, -1].argmax())
    return {"token": found, "device": str(next(model.parameters()).device), "import_s": IMPORTED - BEGUN, "load_s": LOADED - IMPORTED}
