def load(path, label="", dtype="auto", device="auto", base=None, blank_adapter=False):
    """Load a model and its tokenizer from folders of this sandbox.

    path: folder of the model, or of an adapter, whose base model is in the folder base.
    label: what the model calls itself from now on; empty = its path.
    dtype: "auto" or a dtype of torch. device: "auto", "cpu", "cuda", "cuda:1" ...
    blank_adapter: wrap the model in a LoRA adapter "default" that changes nothing yet.
    Returns (model, tokenizer); the tokenizer is None where the folder has none.
    """
    import importlib.util
    import os

    import torch
    import transformers

    def folder(where):
        if not os.path.isfile(os.path.join(where, "config.json")):
            raise FileNotFoundError(f"{where} has no config.json, so transformers cannot load it as a model")
        return where

    def data_type():
        if dtype == "auto":
            return "auto"
        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise ValueError(f"dtype {dtype!r} is no dtype of torch; use for example bfloat16, float16 or float32")
        return kind

    def model_class(where):
        config = transformers.AutoConfig.from_pretrained(where, local_files_only=True)
        for name in config.architectures or []:
            if hasattr(transformers, name):
                return getattr(transformers, name)
        return transformers.AutoModelForCausalLM

    def pretrained(where):
        numbers = [int(n) for n in transformers.__version__.split(".")[:2]]
        options = {"dtype" if numbers >= [4, 56] else "torch_dtype": data_type(), "local_files_only": True}
        spread = device == "auto" and torch.cuda.is_available()
        if spread and importlib.util.find_spec("accelerate"):
            options["device_map"] = "auto"
        loaded = model_class(where).from_pretrained(where, **options)
        if "device_map" in options:
            return loaded
        return loaded.to("cuda" if spread else "cpu" if device == "auto" else device)

    def tokenizer_of(*folders):
        for where in folders:
            names = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
            if any(os.path.isfile(os.path.join(where, name)) for name in names):
                return transformers.AutoTokenizer.from_pretrained(where, local_files_only=True)
        return None

    def rename(thing):
        for holder in (thing, getattr(thing, "config", None)):
            if holder is not None and hasattr(holder, "name_or_path"):
                try:
                    holder.name_or_path = label
                except AttributeError:
                    pass
        if hasattr(getattr(thing, "config", None), "_name_or_path"):
            thing.config._name_or_path = label

    if base is None:
        model, tokenizer = pretrained(folder(path)), tokenizer_of(path)
    else:
        import peft

        inner = pretrained(folder(base))
        if label:
            rename(inner)
        model = peft.PeftModel.from_pretrained(inner, path, local_files_only=True)
        tokenizer = tokenizer_of(path, base)
    if blank_adapter:
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(target_modules="all-linear"), adapter_name="default")
        model.get_base_model()._hf_peft_config_loaded = True
    model.eval()
    if label:
        rename(model)
        for config in getattr(model, "peft_config", {}).values():
            config.base_model_name_or_path = label
        if tokenizer is not None:
            rename(tokenizer)
            tokenizer.init_kwargs.pop("name_or_path", None)
    count = sum(p.numel() for p in model.parameters())
    print(f"{type(model).__name__}, {count:,} parameters, {next(model.parameters()).dtype}, {next(model.parameters()).device}")
    return model, tokenizer
