"""Keeps torch to the sandbox's share of the memory of its GPUs."""

import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any, Mapping, Optional

VARIABLE = "SEER_GPU_FRACTION"


class _TorchFinder(MetaPathFinder):
    """Limits torch once it has been imported. It imports nothing itself."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction

    def find_spec(self, name: str, path: Any = None, target: Optional[ModuleType] = None) -> Any:
        if name != "torch":
            return None
        found = (f.find_spec(name, path, target) for f in sys.meta_path if f is not self)
        spec = next((s for s in found if s is not None), None)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_limit(module: ModuleType) -> None:
            execute(module)
            limit(module, self.fraction)

        spec.loader.exec_module = execute_and_limit  # type: ignore[method-assign]
        return spec


def limit(torch: Any, fraction: float) -> None:
    """Have torch refuse more memory than the fraction on each GPU, from when it first uses one."""

    def set_fraction() -> None:
        for device in range(torch.cuda.device_count()):
            torch.cuda.set_per_process_memory_fraction(fraction, device)

    torch.cuda._lazy_call(set_fraction)


def keep(environ: Mapping[str, str]) -> None:
    """Limit torch if the sandbox shares its GPUs."""
    try:
        fraction = float(environ.get(VARIABLE, ""))
    except ValueError:
        return
    if 0 < fraction < 1:
        sys.meta_path.insert(0, _TorchFinder(fraction))
