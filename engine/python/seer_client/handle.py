"""Handles: values that stay in the sandbox. docs/protocol.md, section 8."""

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from .errors import SeerError
from .settings import current_options

SMALL = 1 << 16  # bytes; what h[…] gives comes as it is up to here
_Axis = Union[int, Sequence[int], None]


class Handle:
    """A value that stays in the sandbox. Slicing and reducing it happen there; fetch() brings it here.

    It may be given as an argument to functions of the same service, and is then the value itself. What it keeps there is freed by
    release(), at the end of a with-block, and by itself some time after its last use.
    """

    __hash__ = object.__hash__

    def __init__(self, client: Any, info: Dict[str, Any]) -> None:
        self._client, self._info = client, info

    @property
    def id(self) -> str:
        """Its name in the sandbox."""
        return str(self._info["id"])

    @property
    def kind(self) -> str:
        """array, tensor, frame, image, bytes or value."""
        return str(self._info.get("kind", "value"))

    @property
    def type(self) -> str:
        """The Python type that it has there."""
        return str(self._info.get("type", ""))

    @property
    def shape(self) -> Optional[Tuple[int, ...]]:
        """Of an array, a tensor or a frame."""
        shape = self._info.get("shape")
        return None if shape is None else tuple(shape)

    @property
    def dtype(self) -> Optional[str]:
        """Of the elements."""
        return self._info.get("dtype")

    @property
    def device(self) -> Optional[str]:
        """Where a tensor lies."""
        return self._info.get("device")

    @property
    def nbytes(self) -> Optional[int]:
        """What it takes there."""
        return self._info.get("bytes")

    @property
    def preview(self) -> str:
        """The beginning of it, as text."""
        return str(self._info.get("preview", ""))

    @property
    def stats(self) -> Dict[str, Any]:
        """min, max, mean, std and nan (how many there are), where it has numbers."""
        return dict(self._info.get("stats") or {})

    def __repr__(self) -> str:
        facts = [self.type or self.kind]
        facts += ["%s=%s" % (name, self._info[name]) for name in ("shape", "dtype", "device", "bytes") if self._info.get(name) is not None]
        facts += ["%s=%.6g" % item for item in self.stats.items() if isinstance(item[1], (int, float))]
        head = "<Handle %s: %s>" % (self.id, ", ".join(facts))
        return head + "\n" + self.preview if self.preview else head

    # --- use

    def fetch(self) -> Any:
        """The value itself."""
        return self._call("$handle.get", [])

    def release(self) -> bool:
        """Frees it in the sandbox; False when it was gone already."""
        return bool(self._client.call("$handle.release", (self.id,)))

    def refresh(self) -> "Handle":
        """Looks at it again: what it is may have changed in place."""
        info = self._client.call("$handle.info", (self.id,))
        return info if isinstance(info, Handle) else Handle(self._client, info.get("handle", info))

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __seer_handle__(self) -> Dict[str, Any]:
        return {"id": self.id}

    def __reduce__(self) -> Any:
        return Handle, (self._client, self._info)

    def __array__(self, *_: object, **__: object) -> Any:
        raise TypeError("the value of this handle is in the sandbox; .fetch() brings it here")

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        if self.shape:
            return self.shape[0]
        if isinstance(self._info.get("len"), int):
            return int(self._info["len"])
        raise TypeError("a handle of kind %s has no length" % self.kind)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """A part of it: a value if it is small, a handle otherwise."""
        return self._get(["index", _index_key(key)])

    def apply(self, *steps: Sequence[Any]) -> Any:
        """Several steps in one go, as docs/protocol.md, section 8, has them: h.apply(["index", 0], ["reduce", "norm", {}])."""
        return self._get(*steps)

    def handle(self, *steps: Sequence[Any]) -> "Handle":
        """The same, and what comes out stays in the sandbox, however small it is."""
        return self._call("$handle.make", steps)  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Any:
        """With other elements: "float32"."""
        return self._get(["astype", getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).replace("torch.", "")])

    def reshape(self, *shape: Any) -> Any:
        """In another shape."""
        return self._get(["reshape", _numbers(shape)])

    def transpose(self, *axes: Any) -> Any:
        """With the axes in another order."""
        return self._get(["transpose", _numbers(axes)])

    def head(self, n: int = 5) -> Any:
        """The first n rows."""
        return self._get(["head", n])

    def topk(self, k: int) -> Any:
        """The k largest values along the last axis, and where they are."""
        return self._get(["topk", k])

    # What remains when axes are reduced, as NumPy does it; the norm is the Euclidean one.

    def sum(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("sum", axis, keepdims)

    def mean(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("mean", axis, keepdims)

    def median(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("median", axis, keepdims)

    def std(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("std", axis, keepdims)

    def var(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("var", axis, keepdims)

    def min(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("min", axis, keepdims)

    def max(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("max", axis, keepdims)

    def argmin(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("argmin", axis, keepdims)

    def argmax(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("argmax", axis, keepdims)

    def norm(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("norm", axis, keepdims)

    def any(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("any", axis, keepdims)

    def all(self, axis: _Axis = None, keepdims: bool = False) -> Any:
        return self._reduce("all", axis, keepdims)

    def _reduce(self, name: str, axis: _Axis, keepdims: bool) -> Any:
        how: Dict[str, Any] = {} if axis is None else {"axis": axis if isinstance(axis, int) else list(axis)}
        if keepdims:
            how["keepdims"] = True
        return self._get(["reduce", name, how])

    def _get(self, *steps: Sequence[Any]) -> Any:
        above = current_options().handles_above
        return self._call("$handle.get", steps, SMALL if above is None else above)

    def _call(self, fn: str, steps: Sequence[Any], above: Optional[int] = None) -> Any:
        options = current_options().but(handles_above=above, detach=False)
        return self._client.prepare(fn, (self.id, *steps), {}, options).value()


def _numbers(given: Tuple[Any, ...]) -> List[int]:
    return list(given[0]) if len(given) == 1 and not isinstance(given[0], int) else list(given)


def _index_key(key: Any) -> Any:
    """KEY of docs/protocol.md, section 8."""
    if key is Ellipsis:
        return "..."
    if key is None or isinstance(key, (str, bool)):
        return key
    if isinstance(key, slice):
        return {"slice": [None if v is None else int(v) for v in (key.start, key.stop, key.step)]}
    if isinstance(key, tuple):
        return {"at": [_index_key(k) for k in key]}
    if hasattr(key, "tolist"):
        key = key.tolist()
    if isinstance(key, (list, range)):
        return list(key)
    if hasattr(key, "__index__"):
        return key.__index__()
    raise SeerError("a handle cannot be indexed with %r; numbers, slices, names, lists and tuples of these will do" % (key,))

