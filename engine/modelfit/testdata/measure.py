"""Write what modelfit knows of architectures, and what its tests compare with: the caches of
transformers, measured on models of the meta device.

Run with a Python that has torch and transformers: measure.py FOLDER [MODEL_TYPE...]
It writes architectures.json and testdata/transformers.json below FOLDER.
measure.py --weights [MODEL_TYPE...] prints the weights of each architecture in its default sizes:
the bytes of its tensors, which Seer counts, divided by those of its parameters and buffers.
"""

import inspect
import json
import pathlib
import signal
import sys

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForImageTextToText, DynamicCache

BATCH, TOKENS = 2, 100
# The architectures of text models, without those that have a cache of their own kind or that
# cannot be run on the meta device.
TYPES = """
afmoe apertus arcee aria_text bamba biogpt bitnet bloom codegen cohere cohere2 cohere2_moe ctrl cwm deepseek_v2 deepseek_v3
diffllama doge ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo gemma gemma2 gemma3_text
glm glm4 glm4_moe glm4_moe_lite gpt2 gpt_bigcode gpt_neox gpt_neox_japanese gpt_oss gptj granite granite_swa
granitemoe granitemoe_swa granitemoehybrid granitemoeshared helium hy_v3 internlm3 iquestcoder jais2 jamba laguna lfm2
llama llama4_text mamba mamba2 mellum minicpm3 minimax_m2 ministral ministral3 mistral mixtral mpt nanochat
nemotron nemotron_h olmo olmo2 olmo3 olmoe opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_5_moe_text
qwen3_5_text qwen3_moe qwen3_next seed_oss smollm3 solar_open stablelm starcoder2 vaultgemma xglm youtu
""".split()
ON_CPU = ("biogpt", "gpt2")  # they look at values
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SMALL = {"num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32, "hidden_size": 128,
         "intermediate_size": 96, "vocab_size": 128, "sliding_window": 24, "attention_chunk_size": 40}
OWN = {  # what cannot be made small in the same way as the others
    "bamba": {"num_hidden_layers": 12, "attn_layer_indices": [0, 3, 9]},
    "codegen": {"n_layer": 12}, "gptj": {"n_layer": 12, "rotary_dim": 16},
    "granitemoehybrid": {"num_hidden_layers": 3, "layer_types": ["attention", "mamba", "mamba"]},
    "helium": {"num_hidden_layers": 12}, "lfm2": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]}, "mamba2": {"num_hidden_layers": 12, "n_groups": 4},
    "ministral": {**SMALL, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    "nemotron_h": {"layers_block_type": ["attention", "mamba", "moe", "mamba"], "n_groups": 4},
    "deepseek_v2": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 12, "num_attention_heads": 4, "vocab_size": 128,
                    "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
                    "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
                    "moe_intermediate_size": 16, "n_shared_experts": 1, "first_k_dense_replace": 1},
    **dict.fromkeys(("deepseek_v3", "glm4_moe_lite", "minicpm3", "youtu"),
                    {"num_hidden_layers": 12, "kv_lora_rank": 48, "qk_rope_head_dim": 32}),
}
FIELDS = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size", "sliding_window",
          "attention_chunk_size", "use_sliding_window", "max_window_layers", "kv_lora_rank", "qk_rope_head_dim", "multi_query",
          "new_decoder_architecture", "num_kv_heads", "linear_conv_kernel_dim", "linear_key_head_dim",
          "linear_value_head_dim", "linear_num_key_heads", "linear_num_value_heads", "mamba_d_conv", "mamba_d_state", "mamba_d_ssm",
          "mamba_expand", "mamba_n_groups", "mamba_n_heads", "mamba_d_head", "mamba_num_heads", "mamba_head_dim", "ssm_state_size",
          "conv_kernel", "state_size", "expand", "num_heads", "n_groups", "attn_layer_period", "attn_layer_offset",
          "conv_L_cache", "max_position_embeddings")
# Models with several parts, of which one is a text model.
PARTS = """
cohere2_vision gemma3 idefics3 internvl lfm2_vl llama4 llava llava_next llava_onevision mistral3
paligemma qwen2_5_vl qwen2_vl qwen3_vl qwen3_vl_moe smolvlm vipllava
""".split()
KEPT = {*FIELDS, "model_type", "layer_types", "layers_block_type", "attn_layer_indices", "hybrid_override_pattern"}


def tensors(cache):
    """Return the bytes of all states of a cache."""
    total = 0
    for layer in cache.layers:
        for value in vars(layer).values():
            for t in value.values() if isinstance(value, dict) else [value]:
                if isinstance(t, torch.Tensor) and t.dim() > 1:
                    total += t.numel() * t.element_size()
    return total


def build(config, device):
    """Return a model with random weights, in bfloat16."""
    for name, value in IDS.items():
        setattr(config, name, value)
    with torch.device(device), torch.no_grad():
        auto = AutoModelForImageTextToText if config.get_text_config() is not config else AutoModelForCausalLM
        return auto.from_config(config, dtype=torch.bfloat16).eval()


def size(values):
    """Return the bytes of tensors, each counted once."""
    return sum({id(t): t.numel() * t.element_size() for t in values}.values())


def weights(only):
    """Print what the files of each architecture have, compared with what the model has in memory."""
    for name in only or TYPES + PARTS:
        signal.alarm(60)
        try:
            model = build(CONFIG_MAPPING[name](), "meta")
            stored = size(model.state_dict(keep_vars=True).values())
            used = size([*model.parameters(), *model.buffers()])
            print(f"{name} {stored / used:.6f} {stored} {used}", flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        finally:
            signal.alarm(0)


def measure(config, device):
    """Return the bytes of the cache of a model with random weights."""
    model = build(config, device)
    with torch.device(device), torch.no_grad():
        cache = DynamicCache(config=config)
        argument = "past_key_values" if "past_key_values" in inspect.signature(model.forward).parameters else "cache_params"
        model(input_ids=torch.zeros((BATCH, TOKENS), dtype=torch.long), **{argument: cache}, use_cache=True)
    return tensors(cache)


def defaults(cls):
    """Return the defaults of the fields that a file may leave out, and the names that files have for them."""
    names = {k: v for k, v in cls.attribute_map.items() if k in FIELDS}
    fields = cls.__dataclass_fields__
    known = {}
    for name in FIELDS:
        if name == "use_sliding_window" and name in fields:
            known[name] = fields[name].default
        field = fields.get(names.get(name, name))
        if field and isinstance(field.default, (int, str, bool)) and (field.default or name == "attn_layer_offset"):
            known[name] = field.default
    return known, names


def pattern(cls, names):
    """Return the kind of the layers of a file that names none, and which of them see the whole context instead."""
    try:
        kinds = cls(**{names.get("num_hidden_layers", "num_hidden_layers"): 24}).layer_types
    except Exception:
        return None
    if not kinds or len(kinds) != 24:
        return None
    if len(set(kinds)) == 1:
        return {"kind": kinds[0]}
    full = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
    others = {kind for kind in kinds if kind != "full_attention"}
    if len(others) != 1 or len(full) < 2:
        return None
    every, first = full[1] - full[0], full[0]
    if full != list(range(first, 24, every)):
        return None
    return {"kind": others.pop(), "every": every, "first": first}


def kept(values, names):
    """Return the fields that modelfit reads, of those of a file."""
    return {k: v for k, v in values.items() if k in KEPT or k in names.values()}


def cases(name):
    """Yield what files may have: little more than the type, small sizes, and all fields."""
    cls = CONFIG_MAPPING[name]
    names = defaults(cls)[1]
    layers = names.get("num_hidden_layers", "num_hidden_layers")
    if name != "nemotron_h":
        yield {layers: 8}, False
    small = OWN.get(name)
    if small is None:
        fields = cls.__dataclass_fields__
        small = {names.get(k, k): v for k, v in SMALL.items() if names.get(k, k) in fields}
        for window in ("sliding_window", "attention_chunk_size"):
            if window in small and fields[window].default is None:
                del small[window]
    yield small, False
    yield small, True


def alarm(*_):
    raise TimeoutError


def main(folder, only):
    signal.signal(signal.SIGALRM, alarm)
    if folder == "--weights":
        weights(only)
        return
    table, measured = {}, []
    for name in only or TYPES:
        cls = CONFIG_MAPPING[name]
        known, names = defaults(cls)
        table[name] = {"defaults": known, **({"names": names} if names else {}), **(pattern(cls, names) or {})}
        for fields, whole in cases(name):
            signal.alarm(60)
            try:
                config = cls(**fields)
                size = measure(config, "cpu" if name in ON_CPU else "meta")
            except Exception as error:
                print(f"{name} {fields}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                continue
            finally:
                signal.alarm(0)
            file = {**config.to_dict(), "layer_types": getattr(config, "layer_types", None)} if whole else dict(fields)
            if not whole and name == "granitemoehybrid":
                file["layer_types"] = ["attention", "mamba", "mamba"]  # transformers renames them in place
            measured.append({"config": {**kept(file, names), "model_type": name}, "bytes": size})
    for name in PARTS if not only else only:
        if name in TYPES:
            continue
        whole = CONFIG_MAPPING[name]()
        text = whole.get_text_config(decoder=True)
        table[name] = {"text": text.model_type}
        if text.model_type not in table:
            known, names = defaults(type(text))
            table[text.model_type] = {"defaults": known, **({"names": names} if names else {}), **(pattern(type(text), names) or {})}
        file = {"text_config": {"model_type": text.model_type, "num_hidden_layers": 6}}
        try:
            config = CONFIG_MAPPING[name](**file)
            measured.append({"config": {**file, "model_type": name}, "bytes": measure(config, "meta")})
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    folder = pathlib.Path(folder)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
    (folder / "architectures.json").write_text("{\n" + lines + "\n}\n")
    (folder / "testdata/transformers.json").write_text("[\n" + ",\n".join(map(json.dumps, measured)) + "\n]\n")


main(sys.argv[1], sys.argv[2:])
