"""Steps on frames and series of pandas."""

from typing import Any, Tuple

from ..values.types import loaded
from .steps_array import Arrays, check_dtype
from .steps_key import StepError, check_growth, key_of


class Frames:
    """Rows go by their number, columns by their name or number. Reductions are of each column, unless axis says otherwise."""

    def __init__(self, pandas: Any) -> None:
        self._pandas = pandas

    def index(self, frame: Any, key: Any) -> Any:
        check_growth(key, frame.shape, frame.size * 8)
        key = key_of(key)
        if frame.ndim == 1:
            return frame.iloc[key[0] if isinstance(key, tuple) and len(key) == 1 else key] if not isinstance(key, str) else frame[key]
        if isinstance(key, str) or isinstance(key, list) and key and isinstance(key[0], str):
            return frame[key]
        if not isinstance(key, tuple):
            return frame if key is Ellipsis else frame.iloc[key]
        if len(key) != 2 or None in key:
            raise StepError("a frame has two axes: rows and columns")
        rows, columns = (slice(None) if k is Ellipsis else k for k in key)
        chosen = frame[columns] if isinstance(columns, str) or isinstance(columns, list) and columns and isinstance(columns[0], str) \
            else frame.iloc[:, columns]
        return chosen.iloc[rows]

    def reduce(self, frame: Any, name: str, axis: Any, keep: bool) -> Any:
        if keep or isinstance(axis, tuple):
            raise StepError("a frame takes one axis and no keepdims; use astype, or index a column")
        if frame.ndim == 1:
            return Arrays(loaded("numpy")).reduce(frame.to_numpy(), name, None, False) if name == "norm" else _of(frame, name, {})
        if name in ("argmin", "argmax", "norm"):
            found = Arrays(loaded("numpy")).reduce(frame.to_numpy(), name, axis or 0, False)
            return self._pandas.Series(found, index=frame.index if axis else frame.columns)
        options = {"axis": axis or 0}
        if name not in ("any", "all"):
            options["numeric_only"] = True
        return _of(frame, name, options)

    def astype(self, frame: Any, dtype: str) -> Any:
        if dtype not in ("category", "string", "object"):
            dtype = check_dtype(dtype, frame.size, frame.size * 8)
        return frame.astype(dtype)

    def reshape(self, frame: Any, shape: Tuple[int, ...]) -> Any:
        return frame.to_numpy().reshape(shape)

    def transpose(self, frame: Any, axes: Tuple[int, ...]) -> Any:
        return frame if axes == (0, 1) else frame.T

    def head(self, frame: Any, count: int) -> Any:
        return frame.head(count)

    def topk(self, frame: Any, count: int) -> Any:
        return Arrays(loaded("numpy")).topk(frame.to_numpy(), count)


def _of(frame: Any, name: str, options: Any) -> Any:
    if name in ("std", "var"):
        options = {**options, "ddof": 0}  # as arrays have it
    return getattr(frame, name)(**options)
