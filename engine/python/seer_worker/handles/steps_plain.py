"""Steps on what Python itself has, and on images."""

import itertools
import math
import statistics
from typing import Any, Callable, Dict, Tuple

from ..values.types import installed, type_name
from .steps_array import Arrays
from .steps_key import StepError, check_growth, key_of


class Plain:
    """Lists, texts, bytes and dicts."""

    def index(self, value: Any, key: Any) -> Any:
        if isinstance(value, dict):
            return self._of_dict(value, key)
        if hasattr(value, "__len__"):
            check_growth(key, (len(value),), len(value) * 8)
        key = key_of(key)
        if isinstance(key, tuple):
            for one in key:
                value = value[one] if isinstance(one, (int, slice)) else self.index(value, one)
            return value
        if isinstance(key, list):
            if key and isinstance(key[0], bool):
                if len(key) != len(value):
                    raise StepError("there are %d bools for %d items" % (len(key), len(value)))
                return list(itertools.compress(value, key))
            return [value[k] for k in key]
        if not isinstance(key, (int, slice)) or not hasattr(value, "__getitem__"):
            raise StepError("a %s has no such item" % type_name(type(value)))
        return value[key]

    def _of_dict(self, value: Dict[Any, Any], key: Any) -> Any:
        if isinstance(key, dict) and set(key) == {"at"}:
            first, *rest = key["at"]
            found = self._of_dict(value, first)
            return self.index(found, {"at": rest} if len(rest) > 1 else rest[0]) if rest else found
        if isinstance(key, list):
            return {k: value[k] for k in key}
        if isinstance(key, dict) or key not in value:
            raise StepError("there is no key %.100r; there are %.500s" % (key, ", ".join(map(repr, itertools.islice(value, 20)))))
        return value[key]

    def reduce(self, value: Any, name: str, axis: Any, keep: bool) -> Any:
        values = list(value.values()) if isinstance(value, dict) else list(value) if not isinstance(value, (str, bytes)) else None
        if values is None or axis not in (None, 0) or keep:
            raise StepError("it works on a list of numbers, without an axis; this is a %s" % type_name(type(value)))
        return _REDUCTIONS[name](values)

    def astype(self, value: Any, dtype: str) -> Any:
        raise StepError("a %s has no dtype" % type_name(type(value)))

    def reshape(self, value: Any, shape: Tuple[int, ...]) -> Any:
        raise StepError("a %s has no shape" % type_name(type(value)))

    transpose = reshape

    def head(self, value: Any, count: int) -> Any:
        if isinstance(value, dict):
            return dict(itertools.islice(value.items(), count))
        return value[:count] if hasattr(value, "__getitem__") else list(itertools.islice(value, count))

    def topk(self, value: Any, count: int) -> Any:
        order = sorted(range(len(value)), key=lambda i: value[i], reverse=True)[:count]
        return [[value[i] for i in order], order]


class Images:
    """As the array of their pixels."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        numpy = installed("numpy")
        if numpy is None:
            raise StepError("steps on an image need NumPy in the sandbox")
        return lambda image, *arguments: getattr(Arrays(numpy), name)(numpy.asarray(image), *arguments)


_REDUCTIONS: Dict[str, Callable[[Any], Any]] = {
    "sum": sum, "min": min, "max": max, "any": any, "all": all, "mean": statistics.fmean, "median": statistics.median,
    "std": statistics.pstdev, "var": statistics.pvariance,
    "argmin": lambda v: min(range(len(v)), key=v.__getitem__), "argmax": lambda v: max(range(len(v)), key=v.__getitem__),
    "norm": lambda v: math.sqrt(math.fsum(abs(x) ** 2 for x in v)),
}
