def load(path, dtype="auto", device="auto", base=None, blank_adapter=False):
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

    if base is None:
        model, tokenizer = pretrained(folder(path)), tokenizer_of(path)
    else:
        import peft

        model = peft.PeftModel.from_pretrained(pretrained(folder(base)), path, local_files_only=True)
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
