"""Common types of Python that become lists, dicts and numbers, and what to do about those that do not."""

import collections
import collections.abc
import dataclasses
import enum
from typing import Any

from .types import EXTENDED_FLOATS, Unserialisable, loaded, type_name, with_article

_SEQUENCES = (collections.deque, range, collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView)


def plain(value: Any) -> Any:
    """One step from a common Python type to what JSON knows; Unserialisable for all others."""
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, _SEQUENCES):
        return list(value)
    if not isinstance(value, type):
        numpy = loaded("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            return _scalar(value)
        if hasattr(type(value), "model_fields") and hasattr(value, "model_dump"):  # pydantic
            return value.model_dump()
        if hasattr(type(value), "__fields__") and hasattr(value, "__validators__") and callable(getattr(value, "dict", None)):
            return value.dict()  # pydantic 1
    raise Unserialisable("is %s, which cannot be sent; %s" % (with_article(type_name(type(value))), _hint(value)))


def _scalar(value: Any) -> Any:
    """A scalar of NumPy that is a number."""
    kind = value.dtype.kind
    if kind in "biu":
        return value.item()
    if kind == "f" or value.dtype.name in EXTENDED_FLOATS:
        return float(value)
    raise Unserialisable("is %s, which cannot be sent; %s" % (with_article(type_name(type(value))), _hint(value)))


def _hint(value: Any) -> str:
    if callable(getattr(value, "tolist", None)):
        return "use .tolist()" if getattr(value, "shape", None) else "use .item()"
    if isinstance(value, collections.abc.Coroutine):
        return "await it"
    if isinstance(value, collections.abc.Iterator):
        return "use list(…)"
    if callable(getattr(value, "isoformat", None)):
        return "use .isoformat()"
    if callable(getattr(value, "to_dict", None)):
        return "use .to_dict()"
    if callable(getattr(value, "__fspath__", None)):
        return "use str(…)"
    return "return lists, dicts, strings, numbers, bytes and arrays"
