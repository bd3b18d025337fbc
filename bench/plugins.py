"""What it costs that expose modes are Wasm."""

import json
import subprocess
from typing import List

from lab import HERE, Lab
from measure import Row, rounds


def measure(lab: Lab) -> List[Row]:
    face = described(lab)
    cold, warm = str(lab.root / "cold"), str(lab.root / "warm")
    lab.helper("load", dir=warm)
    python = lambda: lab.run(lab.python, "-I", "-S", "-c", "pass")  # noqa: E731
    loads = rounds({
        "load": lab.timed("load", dir=warm),
        "changed": lab.timed("surface", dir=warm, interface=face),
        "same": lab.timed("surface", dir=warm, interface=face, remember=True),
        "python": python,
    }, 20, warm=2)
    compiles = rounds({"compile": lab.timed("compile", dir=cold), "load": lab.timed("load", dir=warm)}, 3)
    calls = rounds({"wasm": lab.timed("expose", dir=warm, interface=face), "native": lab.timed("native", interface=face)}, 20, batch=20, warm=5)
    bare = "`python3 -I -S -c pass`"
    return [
        Row("expose-library, first load on a computer (compiled)", "Wasm", compiles["compile"], "its load from the cache", compiles["load"]),
        Row("expose-library, load from the cache", "Wasm", loads["load"], bare, loads["python"]),
        Row("plugin part of a warm `seer run`, the interface has changed", "Wasm", loads["changed"], bare, loads["python"]),
        Row("plugin part of a warm `seer run`, the same interface", "Wasm", loads["same"], bare, loads["python"]),
        Row("one Expose of 4 functions, loaded", "Wasm", calls["wasm"], "the same Go code, native", calls["native"]),
    ]


def described(lab: Lab) -> str:
    """The description of the interface, as its worker gives it."""
    code = ("import json, sys\nfrom seer_worker import inject, load\nfrom seer_worker.describe import describe\n"
            "print(json.dumps(describe(load.load(sys.argv[1], 'interface.py', inject.Models([])))))")
    worker = str(HERE.parent / "engine/python")
    text = subprocess.run([lab.python, "-c", code, str(HERE / "interface.py")], env=dict(lab.env, PYTHONPATH=worker, PYTHONDONTWRITEBYTECODE="1"),
                          check=True, stdout=subprocess.PIPE).stdout
    json.loads(text)
    path = lab.root / "interface.json"
    path.write_bytes(text)
    return str(path)
