"""From JSON and raw buffers back to Python's objects. Nothing that arrives is executed, and all that is wrong is a ValueError."""

import datetime
import decimal
import io
import json
import math
import re
from typing import Any, Callable, Dict, NoReturn, Optional, Sequence, TypeVar, Union

from .array import Array, flat_list, numpy_array, torch_tensor
from .body import Buffer
from .frames import read_frame, read_series
from .types import TAG, HandleRef, Image, array_size, check_letters, installed

_T = TypeVar("_T")

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?|[+-]?(?:s?NaN[0-9]*|Infinity)", re.ASCII)
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = (r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{3}(?:[0-9]{3})?)?)?"
          r"(?:[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{6})?)?)?")
_IMAGES = ("png", "jpeg", "tiff", "webp", "gif", "bmp")


def _not_json(word: str) -> NoReturn:
    raise ValueError(word + " is not JSON")


_from_json = json.JSONDecoder(parse_constant=_not_json).decode


def decode(parts: Union[Buffer, Sequence[Buffer]], tagged: bool, handle: Optional[Callable[[Dict[str, Any]], Any]] = None,
           tensors: bool = False) -> Any:
    """The value of the parts that value_parts or a BodyReader gave, or of JSON alone.

    handle makes something of a handle's dict. With tensors, arrays that come from torch become torch's again, where that is
    installed and has their dtype; those that were not on the CPU say where in their attribute seer_device.
    Arrays and tensors lie in the memory of the parts if that may be written to.
    """
    all_parts: Sequence[Any] = [parts] if isinstance(parts, (bytes, bytearray, memoryview)) else parts
    try:
        value = _from_json(str(all_parts[0], "utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return untag(value, all_parts, handle, tensors) if tagged or len(all_parts) > 1 else value


def untag(value: Any, parts: Sequence[Buffer] = (), handle: Optional[Callable[[Dict[str, Any]], Any]] = None,
          tensors: bool = False) -> Any:
    """The same for JSON that has been read. parts[0] is not looked at."""
    try:
        return _Untagger(parts, handle or HandleRef, tensors).read(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class _Untagger:
    def __init__(self, parts: Sequence[Buffer], handle: Callable[[Dict[str, Any]], Any], tensors: bool) -> None:
        self._parts, self._handle, self._tensors = parts, handle, tensors

    def read(self, value: Any) -> Any:
        if type(value) is list:
            return [self.read(v) for v in value]
        if type(value) is not dict:
            return value
        if TAG not in value or len(value) != 1:
            return {k: self.read(v) for k, v in value.items()}
        tag = value[TAG]
        if type(tag) is dict and len(tag) == 1:
            (name, content), = tag.items()
            read = _READERS.get(name)
            if read is not None:
                return read(self, content)
        raise ValueError("an unknown tag: %.80r" % (tag,))

    def buffer(self, number: Any) -> Any:
        if type(number) is not int or not 1 <= number < len(self._parts):
            raise ValueError("there is no buffer %.80r" % (number,))
        return self._parts[number]

    def float(self, content: Any) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise ValueError("an unknown float: %.80r" % (content,))
        return _FLOATS[content]

    def dict(self, content: Any) -> Dict[str, Any]:
        return {k: self.read(v) for k, v in _typed(content, dict, "dict").items()}

    def items(self, content: Any) -> Dict[Any, Any]:
        out: Dict[Any, Any] = {}
        for item in _typed(content, list, "items"):
            if type(item) is not list or len(item) != 2:
                raise ValueError("items must be pairs of a key and a value")
            try:
                out[_hashable(self.read(item[0]))] = self.read(item[1])
            except TypeError:
                raise ValueError("%.80r cannot be a key" % (item[0],)) from None
        return out

    def bytes(self, content: Any) -> bytes:
        data = self.buffer(content)
        return data if type(data) is bytes else bytes(data)

    def complex(self, content: Any) -> complex:
        parts = [self.read(v) for v in _typed(content, list, "complex")]
        if len(parts) != 2 or not all(type(v) in (int, float) for v in parts):
            raise ValueError("a complex number has two parts: %.80r" % (content,))
        return _converted(complex, *parts)

    def timedelta(self, content: Any) -> datetime.timedelta:
        if len(_typed(content, list, "timedelta")) != 3 or not all(type(v) is int for v in content):
            raise ValueError("a timedelta has days, seconds and microseconds: %.80r" % (content,))
        return _converted(datetime.timedelta, *content)

    def decimal(self, content: Any) -> decimal.Decimal:
        if not _DECIMAL.fullmatch(_typed(content, str, "decimal")):
            raise ValueError("no decimal number: %.80r" % (content,))
        return _converted(decimal.Decimal, content)

    def array(self, content: Any) -> Any:
        content = _typed(content, dict, "array")
        dtype, shape, data = content.get("dtype"), content.get("shape"), self.buffer(content.get("buffer"))
        lib, device = content.get("lib") or "", content.get("device") or ""
        if array_size(dtype, shape) != len(data) or type(lib) is not str or type(device) is not str:
            raise ValueError("an array of %s with the shape %.80r has not %d bytes" % (dtype, shape, len(data)))
        check_letters(dtype, data)
        if memoryview(data).readonly:  # whoever gets an array may write to it
            data = bytearray(data)
        if self._tensors and lib == "torch":
            torch = installed("torch")
            made = None if torch is None else torch_tensor(torch, dtype, shape, data)
            if made is not None:
                if device:
                    made.seer_device = device
                return made
        if lib == "torch" and not shape:
            return flat_list(dtype, data)[0]
        numpy = installed("numpy")
        if numpy is None:
            return Array(dtype, shape, data, lib)
        made = numpy_array(numpy, dtype, shape, data)
        return made if shape else made[()]

    def image(self, content: Any) -> Any:
        content = _typed(content, dict, "image")
        name, mode, size = content.get("format"), content.get("mode"), content.get("size")
        data = self.buffer(content.get("buffer"))
        if name not in _IMAGES or type(mode) is not str or type(size) is not list or len(size) != 2 \
                or not all(type(n) is int and n >= 0 for n in size):
            raise ValueError("an image has the format %.80r, the mode %.80r and the size %.80r" % (name, mode, size))
        pil = installed("PIL.Image")
        if pil is None:
            return Image(name, mode, size, data)
        try:
            made = pil.open(io.BytesIO(data), formats=[name.upper()])
        except pil.DecompressionBombError:
            return Image(name, mode, size, data)
        except Exception as e:  # each format has its own
            raise ValueError("an image cannot be read: %s" % e) from None
        if list(made.size) != size:
            raise ValueError("an image of %s says that it is one of %s" % (list(made.size), size))
        return made

    def frame(self, content: Any) -> Any:
        return read_frame({k: self.read(v) for k, v in _typed(content, dict, "frame").items()})

    def series(self, content: Any) -> Any:
        return read_series({k: self.read(v) for k, v in _typed(content, dict, "series").items()})

    def handle(self, content: Any) -> Any:
        content = self.dict(content)
        if type(content.get("id")) is not str or not content["id"]:
            raise ValueError("a handle needs an id: %.80r" % (content,))
        return self._handle(content)


def _typed(content: Any, kind: type, name: str) -> Any:
    if type(content) is not kind:
        raise ValueError("the tag %s has the content %.80r" % (name, content))
    return content


def _converted(make: Callable[..., _T], *content: Any) -> _T:
    try:
        return make(*content)
    except (ArithmeticError, TypeError) as e:
        raise ValueError("%.80r cannot be read: %s" % (content, e)) from None


def _hashable(key: Any) -> Any:
    return tuple(_hashable(k) for k in key) if type(key) is list else key


def _iso(kind: Any, form: str) -> Callable[[_Untagger, Any], Any]:
    """Reads what isoformat has written in any Python; some take more."""
    fits = re.compile(form).fullmatch

    def read(_: _Untagger, content: Any) -> Any:
        if not fits(_typed(content, str, kind.__name__)):
            raise ValueError("no %s: %.80r" % (kind.__name__, content))
        return kind.fromisoformat(content)
    return read


_READERS: Dict[str, Callable[[_Untagger, Any], Any]] = {
    "float": _Untagger.float, "dict": _Untagger.dict, "items": _Untagger.items, "bytes": _Untagger.bytes, "complex": _Untagger.complex,
    "datetime": _iso(datetime.datetime, "%s(?:[T ]%s)?" % (_DAY, _CLOCK)), "date": _iso(datetime.date, _DAY),
    "time": _iso(datetime.time, _CLOCK), "timedelta": _Untagger.timedelta,
    "decimal": _Untagger.decimal, "array": _Untagger.array, "image": _Untagger.image, "frame": _Untagger.frame,
    "series": _Untagger.series, "handle": _Untagger.handle,
}
