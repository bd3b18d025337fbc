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

    for name in names:
        thing = space.get(name)
        if thing is None:
            continue
        note(name, lambda: repr(thing)[:1_000_000])
        for attribute in ("config", "generation_config", "peft_config", "init_kwargs", "name_or_path", "base_model_prefix", "hf_device_map", "__dict__"):
            note(f"{name}.{attribute}", lambda: repr(getattr(thing, attribute, None))[:1_000_000])
        note(f"{name}.config.to_dict()", lambda: str(thing.config.to_dict()))
        note(f"{name}: a file that is not there", lambda: type(thing).from_pretrained(os.path.join("/models", name, "nothing-here"), local_files_only=True))
        note(f"{name}: a wrong call", lambda: thing("x", no_such_argument=1))
        note(f"the configurations in {name}", lambda: repr({id(part.config): part.config for part in thing.modules() if hasattr(part, "config")}))
    print(json.dumps({k: str(v) for k, v in seen.items()}))
