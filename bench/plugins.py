"""What it costs that expose modes are Wasm."""

import json
import subprocess
from typing import Any, Callable, Dict, List, Tuple

from lab import HERE, TOP, Lab
from measure import Row, in_turns, rounds


FIXTURES = TOP / "engine/plugin/host/testdata/v1"  # expose-v1 does more than to echo: it uses every field of the contract


class GoPlugin:
    """hashicorp/go-plugin, whose plugins are processes."""

    def __init__(self, lab: Lab) -> None:
        program = str(lab.bin / "bench-goplugin")
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=lab.env, universal_newlines=True)
        lab.processes.append(self._process)

    def repeated(self, op: str) -> Callable[[int], List[float]]:
        return lambda n: list(self._ask(op, n)["samples"])

    def _ask(self, op: str, count: int) -> Dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"op": op, "count": count}) + "\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    def memory(self) -> int:
        """Bytes that a plugin's process holds."""
        children = subprocess.check_output(["ps", "-o", "rss=", "--ppid", str(self._process.pid)], universal_newlines=True)
        return max(int(line) for line in children.split()) << 10

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()  # it ends its plugin
        self._process.wait()


def measure(lab: Lab) -> Tuple[List[Row], List[str]]:
    compared, notes = beside_processes(lab)
    return compared + loaded(lab), notes


def beside_processes(lab: Lab) -> Tuple[List[Row], List[str]]:
    """A call of 1 KiB, the way to it, and what an instance holds."""
    peer, rows, notes = GoPlugin(lab), [], []
    name = "`hashicorp/go-plugin`"
    try:
        for language, folder, plugin in (("Go", lab.bin / "bench-echo", "expose-echo"), ("AssemblyScript", FIXTURES, "expose-v1")):
            place = {"dir": str(lab.root / "warm"), "file": str(folder), "plugin": plugin}
            calls = in_turns({"seer": lab.repeated("pooled", **place), "peer": peer.repeated("call")}, 20, 50, 20)
            rows.append(Row("call of 1 KiB JSON, plugin in %s, pooled" % language, "Wasm", calls["seer"], name + ", net/rpc", calls["peer"]))
            starts = in_turns({"seer": lambda n, p=place: [float(lab.helper("instantiate", **p)["seconds"]) for _ in range(n)],
                               "peer": peer.repeated("start")}, 10, 3, 1)
            rows.append(Row("new instance and its first call, plugin in %s" % language, "Wasm", starts["seer"],
                            name + ", process start and first call", starts["peer"]))
            if language == "Go":  # the fixture does not sleep, so that one instance serves all
                notes.append("An instance of the plugin in Go holds %.1f MiB; a process of go-plugin %.1f MiB."
                             % (lab.helper("instances", **place)["bytes"] / 2**20, peer.memory() / 2**20))
    finally:
        peer.close()
    return rows, notes


def loaded(lab: Lab) -> List[Row]:
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
    code = ("import json, sys\nfrom seer_worker.interface import inject, load\nfrom seer_worker.interface.describe import describe\n"
            "print(json.dumps(describe(load.load(sys.argv[1], 'interface.py', inject.Models([]), inject.Datasets([])))))")
    worker = str(HERE.parent / "engine/python")
    text = subprocess.run([lab.python, "-c", code, str(HERE / "interface.py")], env=dict(lab.env, PYTHONPATH=worker, PYTHONDONTWRITEBYTECODE="1"),
                          check=True, stdout=subprocess.PIPE).stdout
    json.loads(text)
    path = lab.root / "interface.json"
    path.write_bytes(text)
    return str(path)
