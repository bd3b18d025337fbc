"""Writes the safetensors format: a length, a JSON header, the numbers.

Reading is in interface.py, which must not need this package.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np


def save(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes float32 tensors, sorted by name, so that equal weights make equal
    files."""
    header = {"__metadata__": {"format": "np"}}
    bodies = []
    offset = 0
    for name in sorted(tensors):
        body = np.ascontiguousarray(tensors[name], dtype="<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(tensors[name].shape),
            "data_offsets": [offset, offset + len(body)],
        }
        bodies.append(body)
        offset += len(body)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format wants the numbers aligned
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(bodies))
