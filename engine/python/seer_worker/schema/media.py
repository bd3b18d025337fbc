"""Images and frames. PIL and pandas are never imported here: who annotates with one has imported it."""

import io
import sys
from typing import Any, Callable, Tuple

from .containers import listed
from .scalars import read_base64
from .types import HANDLE, Defs, Misfit, Node, Schema


class Read(Node):
    """Images and frames: what they are read from, beside themselves."""

    def __init__(self, cls: Any, expects: str, schema: Schema, read: Callable[[Any], Any]) -> None:
        self._cls, self.expects, self._schema, self._read, self.natural = cls, expects, schema, read, frozenset([cls])

    def schema(self, defs: Defs) -> Schema:
        return {"anyOf": [dict(self._schema), dict(HANDLE)]}

    def convert(self, value: Any) -> Any:
        if isinstance(value, self._cls):
            return value
        try:
            return self._read(value)
        except Misfit:
            raise
        except Exception:
            raise Misfit(self.expects, value) from None


def image(t: Any, args: Tuple[Any, ...]) -> Node:
    """PIL.Image.Image."""
    module = sys.modules["PIL.Image"]

    def read(value: Any) -> Any:
        if isinstance(value, str):
            value = read_base64(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            image = module.open(io.BytesIO(value))
            image.load()
            return image
        return module.fromarray(value)

    schema = {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/*"}
    return Read(module.Image, "an image (base64 of an image file in JSON)", schema, read)


def frame(t: Any, args: Tuple[Any, ...]) -> Node:
    """pandas.DataFrame."""

    def read(value: Any) -> Any:
        if not isinstance(value, dict) and not (isinstance(value, list) and all(isinstance(v, dict) for v in value)):
            raise ValueError(value)
        return t(value)

    records: Schema = {"type": "array", "items": {"type": "object"}}
    columns: Schema = {"type": "object", "additionalProperties": {"type": "array"}}
    return Read(t, "a frame (a list of records in JSON)", {"anyOf": [records, columns]}, read)


def series(t: Any, args: Tuple[Any, ...]) -> Node:
    """pandas.Series."""

    def read(value: Any) -> Any:
        if listed(value) is None:
            raise ValueError(value)
        return t(listed(value))

    return Read(t, "a series (a list in JSON)", {"type": "array"}, read)
