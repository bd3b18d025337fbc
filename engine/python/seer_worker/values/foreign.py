"""How arrays of NumPy, tensors of torch and images of PIL are written, if the user's code has imported these."""

import ctypes
import io
import sys
from typing import Any, Callable, List, Tuple

from .frames import write_pandas
from .types import EXTENDED_FLOATS, Unserialisable, item_size, type_name, with_article

_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
_TIFF_MODES = ("I", "I;16", "F", "CMYK", "LAB")


def _refusal(value: Any, reason: str) -> Unserialisable:
    return Unserialisable("is %s, which cannot be sent; %s" % (with_article(type_name(type(value))), reason))


def _write_numpy(to: Any, numpy: Any, value: Any) -> Any:
    if isinstance(value, numpy.generic):
        value = numpy.asarray(value)
    elif not isinstance(value, numpy.ndarray):
        return NotImplemented
    if isinstance(value, getattr(getattr(numpy, "ma", None), "MaskedArray", ())):
        raise _refusal(value, "use .filled(…)")
    kind = value.dtype.kind
    if kind == "O":
        return to.convert(value.tolist())
    dtype = _numpy_dtype(numpy, value)
    if value.ndim == 0 and kind not in "mM":
        return to.convert(float(value) if dtype in EXTENDED_FLOATS else value.item())
    if value.dtype.byteorder == ">" or value.dtype.byteorder == "=" and sys.byteorder != "little":
        value = value.astype(value.dtype.newbyteorder("<"))
    if value.dtype.itemsize == 0:  # empty texts
        value = value.astype(value.dtype.kind + "1")
    flat = numpy.ascontiguousarray(value).reshape(-1)
    data: Any = memoryview(flat.view(numpy.uint8)) if flat.size else b""
    if kind == "U" and to.has_secret(data, "utf-32-le") or kind == "S" and to.has_secret(data):
        return to.convert(value.tolist())
    return to.array(value, dtype, value.shape, data, "numpy")


def _numpy_dtype(numpy: Any, value: Any) -> str:
    dtype = value.dtype
    name = dtype.name
    if dtype.kind in "mM":
        unit, count = numpy.datetime_data(dtype)
        name = "%s[%s]" % ("datetime64" if dtype.kind == "M" else "timedelta64", unit)
        if count != 1 or unit == "generic":
            raise _refusal(value, "its dtype is %s; use .astype('%s')" % (dtype, name.replace("generic", "s")))
    elif dtype.kind in "US":
        size = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        name = "%s%d" % ("str" if dtype.kind == "U" else "bytes", max(size, 1))
    try:
        item_size(name)
    except ValueError:
        hint = {"f": "use .astype('float64')", "c": "use .astype('complex128')"}.get(dtype.kind, "send its fields one by one")
        raise Unserialisable("is an array of the dtype %s, which cannot be sent; %s" % (dtype, hint)) from None
    return str(name)


def _write_torch(to: Any, torch: Any, value: Any) -> Any:
    tensors: Any = getattr(torch, "Tensor", ())
    if not isinstance(value, tensors):
        return NotImplemented
    for refused, what, use in ((value.is_quantized, "quantized", "dequantize"), (getattr(value, "is_nested", False), "nested", "unbind"),
                               (value.layout != torch.strided, "sparse", "to_dense")):
        if refused:
            raise Unserialisable("is a %s tensor, which cannot be sent; use .%s()" % (what, use))
    dtype = str(value.dtype).replace("torch.", "")
    try:
        item_size(dtype)
    except ValueError:
        raise Unserialisable("is a tensor of the dtype %s, which cannot be sent; use .to(…) of another" % dtype) from None
    if value.device.type == "meta":
        raise Unserialisable("is a tensor on the device meta, which has no values and cannot be sent; make it on another device")
    tensor = value.detach()
    for lazy in ("resolve_conj", "resolve_neg"):
        if hasattr(tensor, lazy):
            tensor = getattr(tensor, lazy)()
    device = "" if value.device.type == "cpu" else str(value.device)
    return to.array(value, dtype, tensor.shape, to.fetch(torch, tensor), "torch", device)


def tensor_memory(torch: Any, tensor: Any) -> Any:
    """The bytes of a tensor, contiguous and in main memory; with one copy, or none. Also where NumPy has no such dtype, or is not there."""
    if tensor.device.type == "cpu":
        tensor = tensor.contiguous()
    else:
        tensor = torch.empty(tuple(tensor.shape), dtype=tensor.dtype, device="cpu").copy_(tensor)
    size = tensor.numel() * tensor.element_size()
    if not size:
        return b""
    memory = (ctypes.c_ubyte * size).from_address(tensor.data_ptr())
    memory.owner = tensor  # type: ignore[attr-defined]
    return memoryview(memory)


def _write_image(to: Any, module: Any, value: Any) -> Any:
    images: Any = getattr(module, "Image", ())
    if not isinstance(value, images):
        return NotImplemented
    if value.mode not in _PNG_MODES + _TIFF_MODES:
        value = value.convert("RGBA" if value.mode in ("RGBa", "La", "PA") else "RGB")
    name = "png" if value.mode in _PNG_MODES else "tiff"
    out = io.BytesIO()
    try:
        value.save(out, name, **({"compress_level": 1} if name == "png" else {}))
    except Exception as e:  # of a file that was opened, and is damaged: each format has its own
        raise _refusal(value, "writing it failed: %s" % e) from None
    return to.image(name, value.mode, value.size, out.getbuffer())


MODULE_WRITERS: List[Tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("numpy", _write_numpy), ("torch", _write_torch), ("PIL.Image", _write_image), ("pandas", write_pandas),
]
