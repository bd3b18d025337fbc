"""Makes repositories with a small model and its tokenizer, an adapter of it and a dataset in the current folder.

org--gated-base: a causal LM (Llama) with random weights; org--adapter: a LoRA adapter that changes its outputs;
org--quagmire: another model; datasets--org--words: a text file.
"""

from __future__ import annotations

import json
import pathlib

import peft
import tokenizers
import torch
import transformers

WORDS = "the a fox river stone wind walks sleeps over under and quietly".split()


def model(name: str, seed: int) -> pathlib.Path:
    torch.manual_seed(seed)
    folder = pathlib.Path(name)
    config = transformers.LlamaConfig(
        vocab_size=3 + len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", *WORDS])}
    whole = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    whole.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=whole, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    made.save_pretrained(folder)
    (folder / "pytorch_model.bin").write_text("a copy of the weights in another format\n")
    return folder


def adapter(name: str, base: pathlib.Path) -> None:
    torch.manual_seed(3)
    inner = transformers.AutoModelForCausalLM.from_pretrained(base)
    wrapped = peft.get_peft_model(inner, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    wrapped.save_pretrained(name)
    config = pathlib.Path(name) / "adapter_config.json"
    fields = json.loads(config.read_text())
    fields["base_model_name_or_path"] = "org/gated-base"
    config.write_text(json.dumps(fields))


adapter("org--adapter", model("org--gated-base", 1))
model("org--quagmire", 2)
data = pathlib.Path("datasets--org--words")
data.mkdir()
(data / "words.txt").write_text("fox river\n")
