"""Steps on arrays of NumPy and on tensors, wherever these lie."""

from typing import Any, Tuple

from ..values.types import EXTENDED_FLOATS, item_size
from .steps_key import StepError, check_growth, check_size, key_of


def check_dtype(dtype: str, count: int, size: int) -> str:
    """The dtype as NumPy says it; StepError for one that docs/protocol.md does not have, or with which the array fills the memory."""
    if dtype in ("str", "bytes"):
        return dtype[0].replace("s", "U").replace("b", "S")
    try:
        check_size(item_size(dtype) * count, 16 * size)
    except ValueError as e:
        raise StepError(str(e)) from None
    return dtype.replace("str", "U") if dtype.startswith("str") else dtype.replace("bytes", "S")


class Arrays:
    """With the functions of NumPy."""

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def index(self, array: Any, key: Any) -> Any:
        check_growth(key, array.shape, array.nbytes)
        return array[key_of(key, self._many)]

    def reduce(self, array: Any, name: str, axis: Any, keep: bool) -> Any:
        numpy = self._numpy
        options = {"axis": axis, **({"keepdims": True} if keep else {})}
        if name == "norm":
            return numpy.sqrt(numpy.square(numpy.abs(array).astype("f8")).sum(**options))
        if name == "median":
            return numpy.median(array, **options)
        if name == "sum" and array.dtype.itemsize < 4 and array.dtype.kind not in "biuSU":
            options["dtype"] = numpy.float32  # halves are soon too small for a sum
        return getattr(array, name)(**options)

    def astype(self, array: Any, dtype: str) -> Any:
        dtype = check_dtype(dtype, array.size, array.nbytes)
        if dtype in EXTENDED_FLOATS:
            import ml_dtypes  # type: ignore[import-not-found, unused-ignore]  # it may be there, and nothing else knows these
            return array.astype(getattr(ml_dtypes, dtype))
        return array.astype(dtype)

    def reshape(self, array: Any, shape: Tuple[int, ...]) -> Any:
        return array.reshape(shape)

    def transpose(self, array: Any, axes: Tuple[int, ...]) -> Any:
        return array.transpose(axes or None)

    def head(self, array: Any, count: int) -> Any:
        return array[:count]

    def topk(self, array: Any, count: int) -> Any:
        numpy = self._numpy
        count = min(count, array.shape[-1])
        if not count:
            order = numpy.zeros((*array.shape[:-1], 0), "i8")
        elif count * 8 < array.shape[-1]:
            best = numpy.argpartition(array, array.shape[-1] - count, axis=-1)[..., -count:]
            inner = numpy.argsort(numpy.take_along_axis(array, best, -1), axis=-1, kind="stable")[..., ::-1]
            order = numpy.take_along_axis(best, inner, -1)
        else:
            order = numpy.argsort(array, axis=-1, kind="stable")[..., ::-1][..., :count]
        return [numpy.take_along_axis(array, order, -1), order]

    def _many(self, keys: Any) -> Any:
        if keys and isinstance(keys[0], str):
            return keys  # fields of records
        return self._numpy.array(keys, dtype=bool if keys and isinstance(keys[0], bool) else "i8")


class Tensors:
    """With the functions of torch, on the device where the tensor is."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def index(self, tensor: Any, key: Any) -> Any:
        torch = self._torch
        check_growth(key, tensor.shape, tensor.numel() * tensor.element_size())
        return tensor[key_of(key, lambda keys: torch.tensor(keys, dtype=None if keys else torch.int64, device=tensor.device))]

    def reduce(self, tensor: Any, name: str, axis: Any, keep: bool) -> Any:
        torch = self._torch
        tensor = tensor.detach()
        axes = tuple(range(tensor.dim())) if axis is None else axis
        if name in ("mean", "std", "var", "norm", "median") and not tensor.is_floating_point() and not tensor.is_complex():
            tensor = tensor.to(torch.float64)
        if not tensor.dim() and name not in ("argmin", "argmax"):
            return _alone(torch, tensor, name)
        if name in ("sum", "mean"):
            return getattr(tensor, name)(dim=axes, keepdim=keep)
        if name in ("std", "var"):
            return getattr(tensor, name)(dim=axes, unbiased=False, keepdim=keep)
        if name in ("min", "max"):
            return getattr(torch, "a" + name)(tensor, dim=axes, keepdim=keep)
        if name == "norm":
            return torch.linalg.vector_norm(tensor, dim=axes, keepdim=keep)
        if name in ("any", "all"):
            return _truth(tensor, name, axis, keep)
        if isinstance(axis, tuple):
            raise StepError("%s takes one axis" % name)
        flat, dim = (tensor.reshape(-1), 0) if axis is None else (tensor, axis)
        found = _median(flat, dim) if name == "median" else getattr(flat, name)(dim=dim, keepdim=True)
        shape = [1] * tensor.dim() if axis is None else found.shape
        return found.reshape(shape) if keep else found.squeeze(dim)

    def astype(self, tensor: Any, dtype: str) -> Any:
        found = getattr(self._torch, dtype, None)
        if not isinstance(found, self._torch.dtype):
            raise StepError("torch has no dtype %r" % dtype)
        return tensor.to(found)

    def reshape(self, tensor: Any, shape: Tuple[int, ...]) -> Any:
        return tensor.reshape(shape)

    def transpose(self, tensor: Any, axes: Tuple[int, ...]) -> Any:
        return tensor.permute(axes or tuple(reversed(range(tensor.dim()))))

    def head(self, tensor: Any, count: int) -> Any:
        return tensor[:count]

    def topk(self, tensor: Any, count: int) -> Any:
        return list(tensor.topk(min(count, tensor.shape[-1]), dim=-1))


def _alone(torch: Any, tensor: Any, name: str) -> Any:
    """Of a single number."""
    if name in ("std", "var"):
        return torch.zeros_like(tensor)
    return tensor.abs() if name == "norm" else tensor.bool() if name in ("any", "all") else tensor


def _truth(tensor: Any, name: str, axis: Any, keep: bool) -> Any:
    tensor = tensor.bool()
    axes = range(tensor.dim()) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for dim in axes:
        tensor = getattr(tensor, name)(dim=dim, keepdim=True)
    if not keep:
        for dim in sorted((d % tensor.dim() for d in axes), reverse=True):
            tensor = tensor.squeeze(dim)
    return tensor


def _median(tensor: Any, dim: int) -> Any:
    """As NumPy has it: of an even number, the mean of the middle two."""
    count = tensor.shape[dim]
    if not count:
        raise StepError("there is no median of nothing")
    values = tensor.sort(dim=dim).values
    return (values.narrow(dim, (count - 1) // 2, 1) + values.narrow(dim, count // 2, 1)) / 2
