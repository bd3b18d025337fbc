def _seer_look(names):
    """What a curious user of this interpreter can see, as texts."""
    import json
    import os
    import sys
    import traceback

    space = globals()
    seen = {"environment": dict(os.environ), "arguments": sys.argv, "path": sys.path, "history": [str(t) for t in space.get("_ih", [])]}

    def note(where, what):
        try:
            seen[where] = what()
        except Exception:
            seen[where] = traceback.format_exc()

    def notes(name, thing):
        note(name, lambda: repr(thing)[:1_000_000])
        texts = ("config", "generation_config", "peft_config", "init_kwargs", "name_or_path", "hf_device_map", "__dict__")
        for text in texts:
            note(f"{name}.{text}", lambda text=text: repr(getattr(thing, text, None))[:1_000_000])
        parts = [part for part in thing.modules() if hasattr(part, "config")] if hasattr(thing, "modules") else [thing]
        note(f"{name}: configurations", lambda: repr({id(part.config): part.config.to_dict() for part in parts}))
        nowhere = os.path.join("/models", name, "nothing-here")
        note(f"{name}: a file that is not there", lambda: type(thing).from_pretrained(nowhere, local_files_only=True))
        note(f"{name}: a wrong call", lambda: thing("x", no_such_argument=1))

    for name in names:
        if space.get(name) is not None:
            notes(name, space[name])
    print(json.dumps({k: str(v) for k, v in seen.items()}))
