# ruff: noqa: F821
import torch

FOUND = {}
for name in ["model", "small", "encoder", "parrot", "blank"]:
    thing = globals()[name]
    weight = next(thing.parameters())
    FOUND[name] = (type(thing).__name__, str(weight.dtype), str(weight.device))
    assert any(p.requires_grad for p in thing.parameters()) == (name != "parrot"), name  # peft changes it when adapters are switched
    assert globals()["tokenizer" if name == "model" else name + "_tokenizer"].vocab_size > 10, name
assert FOUND == {
    "model": ("LlamaForCausalLM", "torch.float16", "cpu"),
    "small": ("LlamaForCausalLM", "torch.bfloat16", "cpu"),
    "encoder": ("BertModel", "torch.float32", "cpu"),
    "parrot": ("PeftModel", "torch.float32", "cpu"),
    "blank": ("PeftModel", "torch.bfloat16", "cpu"),
}, FOUND
assert "_seer_load" not in globals()
words = small_tokenizer("the fox walks over the stone", return_tensors="pt")["input_ids"]
with torch.no_grad():
    for adapted, changes in [(blank, False), (parrot, True)]:
        with_adapter = adapted(words).logits
        with adapted.disable_adapter():
            assert torch.equal(with_adapter, adapted(words).logits) != changes
    texts = encoder_tokenizer(["a cat", "a kitten", "a tax return"], padding=True, return_tensors="pt")
    means = torch.nn.functional.normalize(encoder(**texts).last_hidden_state.mean(1))
assert means[0] @ means[1] > means[0] @ means[2]
print("as asked")
