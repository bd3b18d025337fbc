"""Arrays and tensors. Their packages are never imported here: who annotates with one has imported it."""

import re
import sys
from typing import Any, Callable, Optional, Tuple

from ..values.types import EXTENDED_FLOATS, installed
from .containers import listed
from .media import frame, image, series
from .scalars import NumpyScalar
from .types import HANDLE, Defs, Misfit, Node, Schema

_ELEMENTS = {"f": "number", "i": "integer", "u": "integer", "b": "boolean", "U": "string", "S": "string", "M": "string", "m": "string"}
_FITS = {"f": "iuf", "i": "iu", "u": "iu", "b": "b", "c": "iufc", "U": "U", "S": "US", "M": "UM", "m": "iu", "": "iufbcU"}
_SCALARS = {"f": "number", "i": "integer", "u": "integer", "b": "boolean"}
_SHAPE = re.compile(r"[(\[]([\w\s,.*?#+\-/\"']*)[)\]]")


def array(t: Any, args: Tuple[Any, ...]) -> Optional[Node]:
    """The node of a type of NumPy, torch, PIL, pandas or jaxtyping, or None."""
    if getattr(t, "__name__", "") == "PIL.Image" and hasattr(t, "fromarray"):  # the module, which is easily meant for the class
        t = t.Image
    if not isinstance(t, type):
        return None
    if hasattr(t, "array_type") and hasattr(t, "dim_str"):
        return _jaxtyped(t)
    for module, names, make in _TYPES:
        found = sys.modules.get(module)
        if found is not None and any(issubclass(t, getattr(found, n)) for n in names if isinstance(getattr(found, n, None), type)):
            return make(t, args)
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is not None and type(t).__module__.startswith("torch"):  # torch.FloatTensor: a type that has no instances
        return Tensor(getattr(t, "dtype", None))
    return None


def _numpy(t: Any, args: Tuple[Any, ...]) -> Node:
    dtype = getattr(args[1], "__args__", (None,))[0] if len(args) == 2 else None
    return Array(dtype if isinstance(dtype, type) else None)


def _scalar(t: Any, args: Tuple[Any, ...]) -> Node:
    np = sys.modules["numpy"]
    for kind, cls in (("boolean", np.bool_), ("integer", np.integer), ("number", np.floating), ("number", np.number)):
        if issubclass(t, cls) and not issubclass(t, np.complexfloating):
            abstract = t in (np.integer, np.signedinteger, np.unsignedinteger, np.floating, np.number)
            return NumpyScalar(_Abstract(t) if abstract else t, kind)
    return Node()


class _Abstract:
    """np.floating has no values of its own: any Python number is one."""

    def __new__(cls, t: Any) -> Any:
        np = sys.modules["numpy"]
        return {np.floating: np.float64, np.number: np.float64, np.unsignedinteger: np.uint64}.get(t, np.int64)


def _tensor_of(torch: Any, array: Any) -> Any:
    """On the same memory, also where NumPy has the dtype from ml_dtypes: torch takes such an array only as whole numbers."""
    kind = getattr(torch, array.dtype.name, None)
    if isinstance(kind, torch.dtype) and array.dtype.isbuiltin != 1:
        return torch.from_numpy(array.view("i%d" % array.dtype.itemsize)).view(kind)
    return torch.from_numpy(array)


def _array_of(np: Any, tensor: Any) -> Any:
    """The other way; without ml_dtypes, what NumPy does not have becomes float32, which is exact. Another value is not touched."""
    torch, name = sys.modules.get("torch"), str(getattr(tensor, "dtype", "")).rpartition(".")[2]
    if name not in EXTENDED_FLOATS or torch is None or not isinstance(tensor, torch.Tensor):
        return tensor
    dtype = getattr(installed("ml_dtypes"), name, None)
    if dtype is None:
        return tensor.float().numpy()
    return tensor.contiguous().view(torch.int16 if tensor.element_size() == 2 else torch.int8).numpy().view(dtype)


class Array(Node):
    """np.ndarray, with the dtype that the annotation names."""

    noun = "an array"

    def __init__(self, dtype: Any = None, shape: str = "") -> None:
        self._dtype, self.shape = dtype, shape
        np = sys.modules.get("numpy")
        self._concrete = np.dtype(dtype) if np and dtype is not None and not _is_abstract(np, dtype) else None
        self.expects = self.noun + self._of()
        self.natural = frozenset([np.ndarray]) if np else frozenset()

    def _of(self) -> str:
        return " of %s" % (self._concrete if self._concrete is not None else self._dtype.__name__) if self._dtype is not None else ""

    def _kind(self) -> str:
        if self._concrete is not None:
            return str(self._concrete.kind)
        np = sys.modules["numpy"]
        for kind, cls in (("f", "floating"), ("i", "integer"), ("c", "complexfloating")):
            if self._dtype is not None and issubclass(self._dtype, getattr(np, cls)):
                return kind
        return ""

    def schema(self, defs: Defs) -> Schema:
        element = _ELEMENTS.get(self._kind())
        items = [element] if element else [] if self._kind() else ["number", "boolean", "string"]
        top = ["array", *(i for i in items if element or i != "string")]
        text = "%s%s%s" % (self.noun.partition(" ")[2], self._of(), ", shape %s" % self.shape if self.shape else "")
        if not items:
            return {"description": text}
        return {"anyOf": [{"description": text, "type": top, "items": {"type": [*items, "array"]}}, dict(HANDLE)]}

    def take_shape(self, shape: str) -> None:
        self.shape = self.shape or shape

    def convert(self, value: Any) -> Any:
        np = sys.modules["numpy"]
        if isinstance(value, np.ndarray):
            return self._cast(np, value)
        if callable(getattr(value, "detach", None)):  # a tensor, of a handle perhaps
            value = _array_of(np, value.detach().cpu())
        if callable(getattr(value, "__array__", None)):
            try:
                return self._cast(np, np.asarray(value))
            except (TypeError, ValueError, RuntimeError) as e:
                raise Misfit(self.expects, value, ": %s" % e) from None
        text = isinstance(value, str) and self._kind() not in ("U", "S", "M")
        if text or listed(value) is None and not isinstance(value, (int, float, complex, str)):
            raise Misfit(self.expects, value)
        return self._made(np, value)

    def _made(self, np: Any, value: Any) -> Any:
        try:
            found = np.asarray(value)
        except ValueError:
            raise Misfit(self.expects, value, " whose rows differ in length") from None
        kind = self._kind()
        whole = kind in ("i", "u") and found.dtype.kind == "f" and bool(np.all(found == np.floor(found)))
        if found.size and found.dtype.kind not in _FITS.get(kind, "") and not whole:
            raise Misfit(self.expects, value, " with something else in it" if listed(value) is not None else "")
        if found.size and kind in ("i", "u") and not whole and self._concrete is not None and not _in_range(np, found, self._concrete):
            raise Misfit(self.expects, value, " with a number out of its range")
        try:
            if self._concrete is not None:
                return found.astype(self._concrete, copy=False)
            return found.astype(np.float64) if kind == "f" and found.dtype.kind != "f" else found
        except (ValueError, OverflowError) as e:
            raise Misfit(self.expects, value, ": %s" % e) from None

    def _cast(self, np: Any, value: Any) -> Any:
        if self._dtype is None or value.dtype == self._concrete:
            return value
        if self._concrete is None:
            if np.issubdtype(value.dtype, self._dtype):
                return value
        elif np.can_cast(value.dtype, self._concrete, "same_kind"):
            return value.astype(self._concrete)
        raise Misfit(self.expects, value)


def _is_abstract(np: Any, dtype: Any) -> bool:
    abstract = (np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating, np.complexfloating)
    return dtype in abstract


def _in_range(np: Any, found: Any, dtype: Any) -> bool:
    info = np.iinfo(dtype)
    return bool(found.min() >= info.min and found.max() <= info.max)


class Tensor(Array):
    """torch.Tensor. An array becomes one; a tensor stays as it is, on its device."""

    noun = "a tensor"
    tensors = True

    def __init__(self, dtype: Any = None, shape: str = "") -> None:
        super().__init__(None, shape)
        self._torch_dtype = dtype
        self.natural = frozenset([getattr(sys.modules["torch"], "Tensor", object)])
        self.expects = self.noun + self._of()

    def _of(self) -> str:
        dtype = getattr(self, "_torch_dtype", None)
        return " of %s" % str(dtype).replace("torch.", "") if dtype is not None else ""

    def convert(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        if isinstance(value, torch.Tensor):
            return value if self._torch_dtype in (None, value.dtype) else value.to(self._torch_dtype)
        np = sys.modules.get("numpy")
        try:
            if np is not None and isinstance(value, np.ndarray):
                flat = value if value.flags.writeable and all(s >= 0 for s in value.strides) else value.copy()
                tensor = _tensor_of(torch, flat)
            elif listed(value) is not None or isinstance(value, (int, float, complex)):
                tensor = torch.tensor(value)
            else:
                raise Misfit(self.expects, value)
            return tensor if self._torch_dtype is None else tensor.to(self._torch_dtype)
        except (TypeError, ValueError, RuntimeError, OverflowError) as e:
            raise Misfit(self.expects, value, ": %s" % e) from None


class _Jaxtyped(Node):
    """Float[np.ndarray, "batch seq"]: the annotation itself can tell whether an array fits it."""

    def __init__(self, t: Any, inner: Array) -> None:
        self._t, self._inner, self.tensors, self.natural = t, inner, inner.tensors, inner.natural
        inner.shape = "(%s)" % t.dim_str
        self.expects = "%s[%s, %s]" % (getattr(t, "dtype", t).__name__, t.array_type.__name__, t.dim_str)

    def schema(self, defs: Defs) -> Schema:
        return self._inner.schema(defs)

    def convert(self, value: Any) -> Any:
        found = self._inner.convert(value)
        if not isinstance(found, self._t):
            raise Misfit(self.expects, found)
        return found


def _jaxtyped(t: Any) -> Node:
    inner = array(t.array_type, ())
    if not isinstance(inner, Array):
        return Node()
    dtypes = t.dtypes if isinstance(t.dtypes, (list, tuple)) else ()
    if len(dtypes) == 1 and isinstance(dtypes[0], str):
        torch = sys.modules.get("torch")
        inner = Tensor(getattr(torch, dtypes[0], None)) if isinstance(inner, Tensor) else Array(dtypes[0])
    return _Jaxtyped(t, inner)


_TYPES: "Tuple[Tuple[str, Tuple[str, ...], Callable[[Any, Tuple[Any, ...]], Node]], ...]" = (
    ("numpy", ("ndarray",), _numpy), ("numpy", ("generic",), _scalar), ("torch", ("Tensor",), lambda t, _: Tensor()),
    ("PIL.Image", ("Image",), image), ("pandas", ("DataFrame",), frame), ("pandas", ("Series",), series))


def shape_in(comment: str) -> str:
    """The shape that a comment names: (batch, seq); empty if it names none."""
    match = _SHAPE.search(comment)
    return "(%s)" % " ".join(match.group(1).split()) if match else ""
