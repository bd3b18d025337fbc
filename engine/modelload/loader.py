def _seer_load(path, dtype="auto", device="auto", base=None, blank_adapter=False):
    """Load a model and its tokenizer from folders of this sandbox.

    path: folder of the model, or of an adapter, whose base model is in the folder base.
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

    def look_for_device():
        kind, _, number = device.partition(":")
        if kind != "cuda":
            return
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count <= int(number or 0):
            raise RuntimeError(f"there is no device {device!r}: torch finds {count} GPUs here")

    def adapted(whole):
        import peft

        try:
            return peft.PeftModel.from_pretrained(whole, path, local_files_only=True)
        except (RuntimeError, ValueError) as e:
            if not any(words in str(e) for words in ("size mismatch", "not found in the base model")):
                raise
            raise ValueError(f"the adapter {path} does not fit the base model {base}") from e

    def data_type():
        if dtype == "auto":
            return "auto"
        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise ValueError(f"dtype {dtype!r} is not a dtype of torch; use for example bfloat16, float16 or float32")
        return kind

    def model_class(where):
        config = transformers.AutoConfig.from_pretrained(where, **own)
        for name in config.architectures or []:
            if hasattr(transformers, name):
                return getattr(transformers, name)
        return transformers.AutoModelForCausalLM

    def pretrained(where):
        numbers = [int(n) for n in transformers.__version__.split(".")[:2]]
        options = {"dtype" if numbers >= [4, 56] else "torch_dtype": data_type(), "local_files_only": True}
        spread = device == "auto" and torch.cuda.is_available()
        if (spread or device.startswith("cuda")) and importlib.util.find_spec("accelerate"):
            options["device_map"] = device  # the weights go straight to the GPU, not through a copy in main memory
        kind = model_class(where)
        if kind is transformers.AutoModelForCausalLM:
            options.update(own)
        loaded = kind.from_pretrained(where, **options)
        if "device_map" in options:
            return loaded
        return loaded.to("cuda" if spread else "cpu" if device == "auto" else device)

    def tokenizer_of(*folders):
        for where in folders:
            names = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
            if any(os.path.isfile(os.path.join(where, name)) for name in names):
                return transformers.AutoTokenizer.from_pretrained(where, **own)
        return None

    own = {"local_files_only": True, "trust_remote_code": False}  # else it would ask whether to run a model's own code
    look_for_device()
    if base is None:
        model, tokenizer = pretrained(folder(path)), tokenizer_of(path)
    else:
        model = adapted(pretrained(folder(base)))
        for config in model.peft_config.values():
            config.base_model_name_or_path = base  # its own says where the base was when it was trained
        tokenizer = tokenizer_of(path, base)
    if blank_adapter:
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(target_modules="all-linear"), adapter_name="default")
        model.get_base_model()._hf_peft_config_loaded = True
    model.eval()
    count = sum(p.numel() for p in model.parameters())
    print(f"{type(model).__name__}, {count:,} parameters, {next(model.parameters()).dtype}, {next(model.parameters()).device}")
    return model, tokenizer
