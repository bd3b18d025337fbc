"""From Python's objects to JSON and raw buffers. docs/protocol.md, section 4."""

import datetime
import decimal
import enum
import json
import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

from .array import Array
from .body import Buffer, pack_body
from .foreign import MODULE_WRITERS, tensor_memory
from .frames import DataFrame, Series, write_frame, write_series
from .plain_form import plain
from .types import TAG, Image, Unserialisable, loaded

_AT_ONCE = (dict, list, tuple, str, int, float, type(None))  # what JSON's own encoder may manage


class Encoded(NamedTuple):
    """A value as it travels. buffers are views of the caller's own memory wherever that was possible."""

    data: bytes  # the JSON, part 0
    tagged: bool
    buffers: Tuple[Buffer, ...] = ()

    def body(self, deflate: bool = False) -> List[Buffer]:
        """What to send, one after the other; with deflate what shrinks well is compressed."""
        if not self.buffers and not deflate:
            return [self.data]
        return pack_body((self.data, *self.buffers), deflate)

    @property
    def size(self) -> int:
        """How many bytes body() has without deflate."""
        n = len(self.buffers)
        return len(self.data) + (8 + 17 * (n + 1) + sum(map(len, self.buffers)) if n else 0)


def encode(value: Any, scrub: Callable[[str], str] = str, secrets: "Tuple[str, ...]" = (),
           fetch: Callable[[Any, Any], Buffer] = tensor_memory) -> Encoded:
    """Writes a value; scrub is applied to its texts and bytes if one of secrets (as JSON writes them) shows up in there.

    fetch gives the bytes of a tensor, in main memory and in C order; it is called with torch and the tensor.
    """
    if isinstance(value, _AT_ONCE):
        try:
            text = _json_text(value) if type(value) is str else _json(value)
            if TAG not in text and not (secrets and any(s in text for s in secrets)):
                return Encoded(text.encode("utf-8"), False)
        except (Unserialisable, TypeError, ValueError, RuntimeError, OverflowError):
            pass  # found again below, with its place
    converter = _Converter(scrub, secrets, fetch)
    try:
        plain = converter.convert(value)
        tagged, buffers = converter.tagged or bool(converter.buffers), tuple(converter.buffers)
        try:
            return Encoded(_json(plain).encode("utf-8"), tagged, buffers)
        except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, but an escape
            return Encoded(_json_ascii(plain).encode("ascii"), tagged, buffers)
    except RecursionError:
        raise Unserialisable("is nested too deeply to be sent") from None


_json_text = json.encoder.encode_basestring
_encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=plain)
_make: Any = getattr(json.encoder, "c_make_encoder", None)
# What JSONEncoder makes anew for each text. Without its table of what is open: a value that contains itself is nested too deeply.
_pieces: Any = _make and _make(None, plain, _json_text, None, ":", ",", False, False, False)


def _json(value: Any) -> str:
    return "".join(_pieces(value, 0)) if _pieces is not None and not isinstance(value, str) else _encoder.encode(value)


_json_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class _Converter:
    """The slow way: element by element, to write tags, take buffers out, scrub texts or find the offender."""

    def __init__(self, scrub: Callable[[str], str], secrets: Tuple[str, ...], fetch: Callable[[Any, Any], Buffer]) -> None:
        self.tagged = False
        self.fetch = fetch
        self.buffers: List[Buffer] = []
        self._scrub = scrub
        self._secrets = [json.loads('"%s"' % s).encode("utf-8", "surrogatepass") for s in secrets]
        self._open: Set[int] = set()
        self._sent: Dict[int, Tuple[Any, Any]] = {}  # arrays that are already there, and their tags

    def convert(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._scrub(str.__str__(value))
        if isinstance(value, int):
            return _checked_int(value)
        if isinstance(value, float):
            return self._float(float(value))
        if id(value) in self._open:
            raise Unserialisable("contains itself, which cannot be sent")
        self._open.add(id(value))
        try:
            if isinstance(value, dict):
                return self._dict(value)
            if isinstance(value, (list, tuple)):
                return self._list(value)
            for kind, write in _WRITERS:
                if isinstance(value, kind):
                    return write(self, value)
            return self._foreign(value)
        finally:
            self._open.discard(id(value))

    def tag(self, **content: Any) -> Any:
        """An object that says what JSON cannot."""
        self.tagged = True
        return {TAG: content}

    def buffer(self, data: Buffer) -> int:
        """The number that data gets as a part."""
        self.buffers.append(data)
        return len(self.buffers)

    def has_secret(self, data: Any, encoding: str = "utf-8") -> bool:
        """Whether a secret shows up in the bytes of a text."""
        if not self._secrets:
            return False
        raw = bytes(data)
        return any(s.decode("utf-8", "surrogatepass").encode(encoding, "surrogatepass") in raw for s in self._secrets)

    def array(self, owner: Any, dtype: str, shape: Any, data: Buffer, lib: str, device: str = "") -> Any:
        """The tag of an array; owner is the object that it was, which may come again."""
        about = {"device": device} if device else {}
        made = self.tag(array={"dtype": dtype, "shape": [int(n) for n in shape], "buffer": self.buffer(data), "lib": lib, **about})
        self._sent[id(owner)] = (owner, made)
        return made

    def image(self, format: str, mode: str, size: Any, data: Buffer) -> Any:
        """The tag of an image file."""
        return self.tag(image={"format": format, "mode": mode, "size": list(size), "buffer": self.buffer(data)})

    def bytes(self, value: Any) -> Any:
        view = memoryview(value)
        data: Buffer = view.cast("B") if view.c_contiguous and view.nbytes else view.tobytes()
        if self.has_secret(data):
            data = self._scrub(bytes(data).decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return self.tag(bytes=self.buffer(data))

    def _foreign(self, value: Any) -> Any:
        if id(value) in self._sent:
            return self._sent[id(value)][1]
        if not isinstance(value, type):
            if hasattr(type(value), "__seer_handle__"):
                return self.tag(handle=self._dict(value.__seer_handle__()))
            for module, write in MODULE_WRITERS:
                found = loaded(module)
                if found is not None:
                    written = write(self, found, value)
                    if written is not NotImplemented:
                        return written
        return self.convert(plain(value))

    def _float(self, value: float) -> Any:
        if math.isfinite(value):
            return value
        return self.tag(float="nan" if value != value else "inf" if value > 0 else "-inf")

    def _list(self, values: Any) -> List[Any]:
        out: List[Any] = []
        try:
            for value in values:
                out.append(self.convert(value))
        except Unserialisable as e:
            e.path.insert(0, "[%d]" % len(out))
            raise
        return out

    def _dict(self, values: Dict[Any, Any]) -> Any:
        names = [_key(key) for key in values]
        if None in names or len(set(names)) < len(names):
            return self.tag(items=[[self._key(k), self._entry(k, v)] for k, v in values.items()])
        out = {self._scrub(name): self._entry(key, value) for name, (key, value) in zip(names, values.items())}  # type: ignore[arg-type]
        return self.tag(dict=out) if TAG in out else out

    def _entry(self, key: Any, value: Any) -> Any:
        try:
            return self.convert(value)
        except Unserialisable as e:
            e.path.insert(0, "[%.80r]" % (key,) if not isinstance(key, str) else "[%s]" % json.dumps(key)[:80])
            raise

    def _key(self, key: Any) -> Any:
        if getattr(key, "shape", None) == () and hasattr(key, "detach"):  # a tensor is no key in other languages
            key = key.item()
        try:
            return self.convert(key)
        except Unserialisable as e:
            raise Unserialisable("has the key %.80r, which %s" % (key, e.at("").strip())) from None


def _key(key: Any) -> Optional[str]:
    """The text that a key has in JSON; None where it has none."""
    if isinstance(key, enum.Enum) and not isinstance(key, (str, int)):
        key = key.value
    if isinstance(key, str):
        return str.__str__(key)
    if key is True or key is False or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, int) or type(key).__module__ == "numpy" and getattr(getattr(key, "dtype", None), "kind", None) in ("i", "u"):
        return int.__repr__(_checked_int(key))
    if isinstance(key, float) and math.isfinite(key):
        return float.__repr__(float(key))
    return None


def _checked_int(value: Any) -> int:
    value = int(value)
    if value.bit_length() > 14000:  # about 4200 digits: what newer Pythons are willing to read
        raise Unserialisable("is an int of %d bits, which is too large to be sent; use hex()" % value.bit_length())
    return value


def _datetime(to: _Converter, value: datetime.datetime) -> Any:
    if value != value:  # NaT of pandas
        return None
    return to.tag(datetime=datetime.datetime.isoformat(value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value))


_WRITERS: List[Tuple[Any, Callable[[_Converter, Any], Any]]] = [
    ((bytes, bytearray, memoryview), _Converter.bytes),
    (complex, lambda to, v: to.tag(complex=[to.convert(v.real), to.convert(v.imag)])),
    (datetime.datetime, _datetime),
    (datetime.date, lambda to, v: to.tag(date=v.isoformat())),
    (datetime.time, lambda to, v: to.tag(time=v.isoformat())),
    (datetime.timedelta, lambda to, v: to.tag(timedelta=[v.days, v.seconds, v.microseconds])),
    (decimal.Decimal, lambda to, v: to.tag(decimal=str(v))),
    (Array, lambda to, v: to.array(v, v.dtype, v.shape, v.data, v.lib)),
    (Image, lambda to, v: to.image(v.format, v.mode, v.size, v.data)),
    (DataFrame, write_frame),
    (Series, write_series),
]
