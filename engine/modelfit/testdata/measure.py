"""Measure the KV cache of transformers on small meta-device models, for the tests of modelfit.

Run with a Python that has torch and transformers: measure.py >transformers.json
"""

import json

import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

BATCH, TOKENS = 2, 100
TOKEN_IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OWN = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 12, "num_attention_heads": 4,
       "vocab_size": 128, "max_position_embeddings": 512, **TOKEN_IDS}
GROUPED = {**OWN, "num_key_value_heads": 2}
WIDE = {**GROUPED, "head_dim": 32}
WINDOW = {"sliding_window": 24}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
GPT = {"n_embd": 64, "n_layer": 12, "n_head": 4, "vocab_size": 128, **TOKEN_IDS}
LATENT = {**OWN, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 16,
          "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
          "topk_group": 1, "moe_intermediate_size": 16, "n_shared_experts": 1, "first_k_dense_replace": 1}
CASES = {
    "llama": GROUPED, "qwen2": GROUPED, "olmo": GROUPED, "olmo2": GROUPED, "cohere": GROUPED, "granite": GROUPED,
    "stablelm": GROUPED, "smollm3": GROUPED, "gemma": WIDE, "qwen3": WIDE, "phi": OWN, "gpt_neox": OWN,
    "opt": {**OWN, "ffn_dim": 96, "word_embed_proj_dim": 64}, "gpt2": GPT, "gptj": {**GPT, "rotary_dim": 8},
    "mistral": {**GROUPED, **WINDOW}, "phi3": {**GROUPED, **WINDOW}, "olmo3": {**GROUPED, **WINDOW},
    "starcoder2": {**GROUPED, **WINDOW}, "ministral": {**WIDE, **WINDOW}, "gemma2": {**WIDE, **WINDOW},
    "gemma3_text": {**WIDE, **WINDOW}, "cohere2": {**WIDE, **WINDOW},
    "mixtral": {**GROUPED, "num_local_experts": 2}, "olmoe": {**GROUPED, **EXPERTS},
    "qwen2_moe": {**GROUPED, **EXPERTS, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
    "qwen3_moe": {**WIDE, **EXPERTS, "moe_intermediate_size": 32},
    "gpt_oss": {**WIDE, **WINDOW, "num_local_experts": 4, "num_experts_per_tok": 2},
    "deepseek_v2": LATENT, "deepseek_v3": LATENT,
}
KEPT = ("model_type", "num_hidden_layers", "n_layer", "num_attention_heads", "n_head", "num_key_value_heads", "head_dim",
        "hidden_size", "n_embd", "sliding_window", "layer_types", "sliding_window_pattern", "use_sliding_window",
        "max_window_layers", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def measure(name, fields):
    """Return the fields that modelfit reads, and the bytes of all tensors of the cache."""
    config = AutoConfig.for_model(name, **fields)
    with torch.device("meta"), torch.no_grad():
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
        cache = DynamicCache(config=config)
        model(input_ids=torch.zeros((BATCH, TOKENS), dtype=torch.long), past_key_values=cache, use_cache=True)
    tensors = [t for layer in cache.layers for t in (layer.keys, layer.values) if t is not None]
    saved = config.to_dict()
    return {"config": {k: saved[k] for k in KEPT if k in saved}, "bytes": sum(t.numel() * t.element_size() for t in tensors)}


print("[\n" + ",\n".join(json.dumps(measure(*case)) for case in CASES.items()) + "\n]")
