"""An array of 1 GB goes into a sandbox and comes back. This program holds it a few times at most,
and the engine's process, through which no data passes, never."""

import resource
import tempfile
import time
from pathlib import Path

import numpy
from many import memory

from seer._engine import engine
from seer.environment import SandboxConfig, ScopedSandbox

SIZE = 1 << 30  # bytes

INTERFACE = """
import numpy

@expose
def total(values: numpy.ndarray) -> float:
    return float(values.sum(dtype="float64"))

@expose
def ones(n: int) -> numpy.ndarray:
    return numpy.ones(n, dtype="float32")
"""


def main():
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name, "large.py")
    file.write_text(INTERFACE)
    with folder, ScopedSandbox(SandboxConfig(gpu=None, provider="local", timeout=600)) as sandbox:
        library = sandbox.serve(file, name="large_arrays")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        began = time.monotonic()
        assert library.total(numpy.ones(SIZE // 4, dtype="float32")) == SIZE // 4
        there = time.monotonic()
        got = library.ones(SIZE // 4)
        back = time.monotonic()
        assert got.nbytes == SIZE and got[0] == got[-1] == 1
        most = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
        held = memory(engine()._process.pid)
        print(f"1 GiB: there in {there - began:.1f} s, back in {back - there:.1f} s; at most {most / SIZE:.2f} GiB more here,"
              f" {held >> 20} MiB in the engine")
        assert most < 2.5 * SIZE and held < 256 << 20, (most, held)


if __name__ == "__main__":
    main()
