"""Values: what arguments and results look like on the wire. docs/protocol.md, section 4.

    encoded = encode(result, scrubber.text, scrubber.escaped)       Unserialisable: e.at("result") says what, and where
    sock.sendmsg(encoded.body())

    value = decode(value_parts(body), tagged)                       ValueError for all that is malformed

The parts are in the modules values_*.py, each of which uses only those before it: types, body, array, frames, foreign,
plain, encode, decode. A program in one file joins them in this order. No name in them is used twice.
"""

from .values_array import Array
from .values_body import BodyReader, Buffer, pack_body, value_parts
from .values_decode import decode, untag
from .values_encode import Encoded, encode
from .values_frames import DataFrame, Series
from .values_plain import plain
from .values_types import TAG, HandleRef, Image, Unserialisable, array_size, item_size, type_name

__all__ = [
    "TAG", "Array", "BodyReader", "Buffer", "DataFrame", "Encoded", "HandleRef", "Image", "Series", "Unserialisable", "array_size",
    "decode", "encode", "item_size", "pack_body", "plain", "type_name", "untag", "value_parts",
]
