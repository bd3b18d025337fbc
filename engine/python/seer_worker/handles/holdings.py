"""What the handles of each token hold, and the copies by which views let go of their bases."""

from typing import Any, Dict, Iterable, List, Tuple

from ..values.types import loaded
from .memory import Key, Memory, links, memory_of, storage_of


class Holdings:
    """Not thread-safe. A base that several handles of a token share counts once for it; of two tokens, once for each."""

    def __init__(self) -> None:
        self.total = 0
        self.of: Dict[str, int] = {}  # token → bytes
        self._bases: Dict[Tuple[str, Key], List[int]] = {}  # how many handles hold it, its size

    def add(self, token: str, memory: Memory) -> None:
        self._count(token, memory.own)
        for base, size in memory.bases.items():
            known = self._bases.setdefault((token, base), [0, 0])
            known[0] += 1
            self._count(token, max(0, size - known[1]))
            known[1] = max(known[1], size)

    def remove(self, token: str, memory: Memory) -> None:
        self._count(token, -memory.own)
        for base in memory.bases:
            known = self._bases[token, base]
            known[0] -= 1
            if not known[0]:
                self._count(token, -known[1])
                del self._bases[token, base]

    def _count(self, token: str, size: int) -> None:
        self.total += size
        self.of[token] = self.of.get(token, 0) + size
        if not self.of[token]:
            del self.of[token]


def compact(value: Any, spared: Iterable[Key], most: int) -> Any:
    """A copy of a view that has at most half of its base, if the copy has at most `most` bytes; otherwise the value itself."""
    try:
        size, base = _view(value, frozenset(spared))
        if 0 < 2 * size <= base and size <= most:
            return value.clone() if type(value) is getattr(loaded("torch"), "Tensor", None) else value.copy()
    except Exception:  # no memory for a copy, say: then the base counts
        pass
    return value


def _view(value: Any, spared: "frozenset[Key]") -> Tuple[int, int]:
    """The bytes of a value that can be copied as it is, and those of its base; zeros for others."""
    numpy, torch, pandas = loaded("numpy"), loaded("torch"), loaded("pandas")
    if type(value) is getattr(numpy, "ndarray", None) and value.base is not None and not value.dtype.hasobject:
        if not spared.isdisjoint(id(link) for link in links(value)):
            return 0, 0
        return int(value.nbytes), memory_of(value).total
    if type(value) is getattr(torch, "Tensor", None) and not value.requires_grad and "strided" in str(value.layout):
        key, base = storage_of(value)
        return (0, 0) if key in spared else (int(value.numel()) * int(value.element_size()), base)
    if type(value) in (getattr(pandas, "DataFrame", None), getattr(pandas, "Series", None)):
        usage = value.memory_usage()
        memory = memory_of(value, spared)
        return (0, 0) if memory.spared else (int(getattr(usage, "sum", lambda: usage)()), memory.total)
    return 0, 0
