"""What is said of a value that stays in the worker: its kind, shape, size, the beginning of it, and figures."""

import math
import reprlib
import sys
from typing import Any, Dict, List, Optional, Tuple

from ..values.types import loaded, type_name
from .stats import array_stats, tensor_stats

_AT_ONCE = 64 << 20  # bytes in main memory whose figures are told without being asked for
_PREVIEW = 1000
_SAMPLE = 100
_CORNER = 3

_short = reprlib.Repr()
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = _short.maxfrozenset = 10
_short.maxstring = _short.maxother = 200
_short.maxlevel = 3


def kind_of(value: Any) -> str:
    """array, tensor, frame, image, bytes or value."""
    numpy, torch, image, pandas = loaded("numpy"), loaded("torch"), loaded("PIL.Image"), loaded("pandas")
    if isinstance(value, getattr(numpy, "ndarray", ())):
        return "array"
    if isinstance(value, getattr(torch, "Tensor", ())):
        return "tensor"
    if isinstance(value, (getattr(pandas, "DataFrame", ()), getattr(pandas, "Series", ()))):
        return "frame"
    if isinstance(value, getattr(image, "Image", ())):
        return "image"
    return "bytes" if isinstance(value, (bytes, bytearray, memoryview)) else "value"


def describe(value: Any, size: int, stats: bool = True) -> Dict[str, Any]:
    """HANDLE without its id; with stats where they cost next to nothing."""
    kind = kind_of(value)
    about: Dict[str, Any] = {"kind": kind, "type": type_name(type(value)), "bytes": size}
    if kind in ("array", "tensor", "frame"):
        about["shape"] = [int(n) for n in value.shape]
    if kind in ("array", "tensor") or kind == "frame" and hasattr(value, "dtype"):
        about["dtype"] = str(value.dtype).replace("torch.", "")
    if kind == "tensor":
        about["device"] = str(value.device)
    if kind == "image":
        about["shape"] = [value.size[1], value.size[0], len(value.getbands())]
    if kind in ("bytes", "value") and isinstance(value, (bytes, bytearray, memoryview, str, list, tuple, dict, set, frozenset)):
        about["len"] = len(value)
    try:
        about["preview"] = _cut(_preview(kind, value))
    except Exception as e:  # whose printing is broken can be kept all the same
        about["preview"] = "(it cannot be shown: %s)" % type(e).__name__
    if stats and (size <= _AT_ONCE or kind == "tensor" and value.device.type not in ("cpu", "meta")):
        about.update(stats_of(value))
    return about


def stats_of(value: Any) -> Dict[str, Any]:
    """{"stats": …} of what has numbers, without a copy of it; nothing of all else."""
    kind = kind_of(value)
    try:
        if kind == "tensor":
            found = tensor_stats(loaded("torch"), value)
        elif kind == "array" or kind == "frame" and hasattr(value, "dtype"):
            found = array_stats(loaded("numpy"), value if kind == "array" else value.to_numpy())
        else:
            return {}
    except Exception:  # a dtype that cannot be calculated with
        return {}
    found = {name: n for name, n in (found or {}).items() if math.isfinite(n)}  # JSON has no others
    return {"stats": found} if found else {}


def _preview(kind: str, value: Any) -> str:
    if kind == "array":
        text: str = loaded("numpy").array2string(value, threshold=50, edgeitems=_CORNER, max_line_width=120)
        return text
    if kind == "tensor":
        return _tensor_preview(value)
    if kind == "frame":
        few = value.iloc[:5, :12] if value.ndim == 2 else value.iloc[:5]
        return str(few.to_string())
    if kind == "image":
        return "%d × %d, %s" % (value.size[0], value.size[1], value.mode)
    if kind == "bytes":
        return repr(bytes(value[:64])) + (" …" if len(value) > 64 else "")
    return value[:_PREVIEW] if isinstance(value, str) else _short.repr(value)


def _tensor_preview(value: Any) -> str:
    """A small tensor, or a corner of it, is moved; never all."""
    if value.device.type == "meta" or value.layout != loaded("torch").strided:
        return "(no preview of this layout)"
    whole = value.numel() <= 50
    corner = value.detach() if whole else value.detach()[tuple(slice(0, 2 * _CORNER) for _ in value.shape[-2:])
                                                        if value.dim() <= 2 else (*[0] * (value.dim() - 2), slice(0, 6), slice(0, 6))]
    text = str(corner.cpu())
    return text if whole else "a corner: " + text


def _cut(text: str) -> str:
    return text if len(text) <= _PREVIEW else text[:_PREVIEW] + " …"


# --- size


def size_of(value: Any, enough: int = 1 << 62) -> int:
    """About how many bytes the value has on the wire (JSON and buffers); counting stops where enough is reached."""
    total, todo, seen = 0, [(value, 1.0)], 0
    while todo and total < enough:
        part, weight = todo.pop()
        size, inner = _size(part)
        total += int(size * weight)
        seen += 1
        if seen > 100_000:  # of something endless
            break
        todo += [(i, weight * w) for i, w in inner]
    return total


def _size(value: Any) -> Tuple[int, List[Tuple[Any, float]]]:
    """Of the value itself, and what is in it, each with how often it counts."""
    if value is None or isinstance(value, bool):
        return 4, []
    if isinstance(value, (int, float)):
        return len(repr(value)) if isinstance(value, float) else 1 + value.bit_length() // 3, []
    if isinstance(value, str):
        return 2 + len(value), []
    if isinstance(value, dict):
        return 2 + 2 * len(value), [*_sampled(list(value.keys())), *_sampled(list(value.values()))]
    if isinstance(value, (list, tuple, set, frozenset)):
        return 2 + len(value), _sampled(value if isinstance(value, (list, tuple)) else list(value))
    kind = kind_of(value)
    if kind == "bytes":
        return value.nbytes if isinstance(value, memoryview) else len(value), []
    if kind == "tensor":
        return value.numel() * value.element_size(), []
    if kind == "array":
        return (int(value.nbytes), []) if value.dtype.kind != "O" else (value.size, _sampled(value.reshape(-1)))
    if kind == "frame":
        return _frame_size(value)
    if kind == "image":
        return value.size[0] * value.size[1] * len(value.getbands()), []
    return _other_size(value), []


def _sampled(values: Any) -> List[Tuple[Any, float]]:
    """All, or some that stand for the others."""
    if len(values) <= _SAMPLE:
        return [(v, 1.0) for v in values]
    step = len(values) / _SAMPLE
    return [(values[int(i * step)], step) for i in range(_SAMPLE)]


def _frame_size(value: Any) -> Tuple[int, List[Tuple[Any, float]]]:
    size, inner = 0, []
    for i in range(value.shape[1] if value.ndim == 2 else 1):
        column = value.iloc[:, i] if value.ndim == 2 else value
        size += int(column.memory_usage(index=False))
        if column.dtype == object:
            step = max(1, len(column) // _SAMPLE)
            some = list(column.iloc[::step])
            inner += [(v, len(column) / len(some)) for v in some]
    return size, inner


def _other_size(value: Any) -> int:
    size: Optional[Any] = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    parameters = getattr(value, "state_dict", None)  # of a model
    if callable(parameters):
        try:
            return sum(t.numel() * t.element_size() for t in parameters().values())
        except Exception:
            pass
    try:
        return sys.getsizeof(value)
    except Exception:
        return 64
