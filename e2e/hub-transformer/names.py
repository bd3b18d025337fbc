"""What code in a sandbox finds by the names of the Hub, with the Hub's own clients and without a network.

It raises AssertionError if something is not as it should be, and prints the outputs of the models otherwise.
"""

import json
import os

import huggingface_hub
import transformers
from huggingface_hub import hf_hub_download, snapshot_download

offline = os.environ["HF_HUB_OFFLINE"]
assert offline == "1" and huggingface_hub.constants.HF_HUB_OFFLINE, offline
assert "HF_HOME" not in os.environ and "HF_TOKEN" not in os.environ, os.environ

folder = snapshot_download("org/gated-base")
assert sorted(os.listdir(folder)) == sorted(os.listdir(os.environ["MODEL_ORG_GATED_BASE_PATH"])), folder
assert "pytorch_model.bin" not in os.listdir(folder)
with open(hf_hub_download("org/words", "words.txt", repo_type="dataset")) as f:
    words = f.read()
with open(os.path.join(os.environ["DATASET_ORG_WORDS_PATH"], "words.txt")) as f:
    assert f.read() == words
for hidden in ("org/quagmire", "org/none"):
    try:
        hf_hub_download(hidden, "config.json")
    except huggingface_hub.errors.LocalEntryNotFoundError:
        continue
    raise AssertionError(hidden + " is found")
repos = {(r.repo_type, r.repo_id) for r in huggingface_hub.scan_cache_dir().repos}
assert repos == {("model", "org/gated-base"), ("model", "org/adapter"), ("dataset", "org/words")}, repos

tokenizer = transformers.AutoTokenizer.from_pretrained("org/gated-base")
config = transformers.AutoConfig.from_pretrained("org/gated-base")
found = {"ids": tokenizer(words)["input_ids"], "layers": config.num_hidden_layers}
try:
    import peft
    import torch
except ImportError:  # then there are no models
    pass
else:
    with torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained("org/gated-base")
        ids = torch.tensor([found["ids"]])
        plain = model(ids).logits[0, -1]
        adapted = peft.PeftModel.from_pretrained(model, "org/adapter")(ids).logits[0, -1]
    assert plain.shape == (len(tokenizer),) and not torch.allclose(plain, adapted)
    # transformers finds the base model by what the adapter says of it.
    whole = transformers.AutoModelForCausalLM.from_pretrained("org/adapter")
    with torch.no_grad():
        assert torch.allclose(whole(ids).logits[0, -1], adapted, atol=1e-5)
    found["plain"], found["adapted"] = [round(float(v.sum()), 3) for v in (plain, adapted)]
print("found " + json.dumps(found))
