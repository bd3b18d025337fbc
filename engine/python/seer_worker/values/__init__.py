"""Values: what arguments and results look like on the wire. docs/protocol.md, section 4.

    encoded = encode(result, scrubber.text, scrubber.escaped)       Unserialisable: e.at("result") says what, and where
    sock.sendmsg(encoded.body())

    value = decode(value_parts(body), tagged)                       ValueError for all that is malformed

Each module of the package imports only those before it in this list: types, body, array, frames, foreign, plain_form, encoding,
decoding. The one-file client joins them in this order, so no two of them define the same name.
"""

from .array import Array
from .body import BodyReader, Buffer, pack_body, value_parts
from .decoding import decode, untag
from .encoding import Encoded, encode
from .frames import DataFrame, Series
from .plain_form import plain
from .types import TAG, HandleRef, Image, Unserialisable, array_size, item_size, type_name

__all__ = [
    "TAG", "Array", "BodyReader", "Buffer", "DataFrame", "Encoded", "HandleRef", "Image", "Series", "Unserialisable", "array_size",
    "decode", "encode", "item_size", "pack_body", "plain", "type_name", "untag", "value_parts",
]
