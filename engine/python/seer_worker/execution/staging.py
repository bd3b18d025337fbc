"""Large tensors of a GPU: two pinned buffers bring them to main memory, piece by piece, while what has come is sent."""

import ctypes
import threading
import warnings
from itertools import chain
from typing import Any, Iterator, List, Optional

from ..transport.arrival import Arrival
from ..values.body import Buffer, reserve
from ..values.encoding import Encoded
from ..values.foreign import tensor_memory

PIECE = 16 << 20  # bytes of each of the two buffers, which stay
LEAST = 32 << 20  # bytes of a tensor that goes this way. The journal writes nothing so large to its file: it may not be there yet


class PinnedCopy:
    """Copies a tensor of CUDA to memory. Pieces may be begun ahead, as many as there are buffers, and end in their order."""

    @staticmethod
    def buffers(torch: Any) -> List[Any]:
        """Memory that the GPU writes to by itself. Where none can be had, ordinary memory does the same, but slower."""
        options = {"dtype": torch.uint8, "device": "cpu"}
        try:
            return [torch.empty(PIECE, pin_memory=True, **options) for _ in range(2)]
        except RuntimeError as e:
            warnings.warn("no pinned memory can be had, so large tensors leave the GPU slowly: %s" % e, RuntimeWarning, stacklevel=2)
            return [torch.empty(PIECE, **options) for _ in range(2)]

    def __init__(self, torch: Any, tensor: Any, memory: memoryview, buffers: List[Any]) -> None:
        cuda, self._torch, self._buffers = torch.cuda, torch, buffers
        self._source = tensor.contiguous().view(-1).view(torch.uint8)
        self._target = torch.frombuffer(memory, dtype=torch.uint8)
        self._done = [cuda.Event() for _ in buffers]
        self._stream = cuda.Stream(tensor.device)
        self._stream.wait_stream(cuda.current_stream(tensor.device))  # what computes the tensor comes first

    def begin(self, number: int, start: int, stop: int) -> None:
        """Starts the copy of a piece into a buffer."""
        slot = number % len(self._buffers)
        with self._torch.cuda.stream(self._stream):
            self._buffers[slot][:stop - start].copy_(self._source[start:stop], non_blocking=True)
            self._done[slot].record(self._stream)

    def end(self, number: int, start: int, stop: int) -> None:
        """Waits for it, and takes it from the buffer to its place. torch would do that with many threads, which wait for each other
        on a busy machine."""
        slot = number % len(self._buffers)
        self._done[slot].synchronize()
        ctypes.memmove(self._target.data_ptr() + start, self._buffers[slot].data_ptr(), stop - start)


class Stager:
    """Fetches tensors for values.encode. At most one is on its way at any time."""

    def __init__(self, copy: Any = None) -> None:
        """copy takes PinnedCopy's place in tests."""
        self._copy = copy or PinnedCopy
        self._buffers: List[Any] = []
        self._arrival: Optional[Arrival] = None
        self._lock = threading.Lock()

    def fetch(self, torch: Any, tensor: Any) -> Buffer:
        """The bytes of the tensor, all of them."""
        with self._lock:
            return self._fetch(torch, tensor, False)

    def ahead(self, torch: Any, tensor: Any) -> Buffer:
        """The same, but of the last tensor that is fetched only the beginning has to be there: see arrival."""
        with self._lock:
            return self._fetch(torch, tensor, True)

    def arrival(self, encoded: Encoded) -> Optional[Arrival]:
        """What of an answer may still be on its way. It has to be settled before code of the user runs, which may change the tensor."""
        found = self._arrival
        return found if found is not None and any(buffer is found.memory for buffer in encoded.buffers) else None

    def whole(self, body: Any) -> bool:
        """Waits until all of a body is there; False: some of it will never be."""
        found = self._arrival
        return found is None or type(body) is not list or all(buffer is not found.memory for buffer in body) or found.settle()

    def forget(self) -> None:
        """The last arrival is settled, and in nobody's way."""
        self._arrival = None

    def _fetch(self, torch: Any, tensor: Any, ahead: bool) -> Buffer:
        size = tensor.numel() * tensor.element_size()
        if tensor.device.type != "cuda" or size < LEAST:
            found: Buffer = tensor_memory(torch, tensor)
            return found
        earlier, self._arrival = self._arrival, None
        if earlier is not None and not earlier.settle():  # also of the same answer
            raise RuntimeError("a tensor could not be copied from the GPU")
        self._buffers = self._buffers or self._copy.buffers(torch)
        arrival = Arrival(reserve(size))
        progress = _pieces(self._copy(torch, tensor, arrival.memory, self._buffers), size)
        first = next(progress)  # a fault of what computes the tensor shows here, as the function's
        if ahead:
            self._arrival = arrival
            threading.Thread(target=arrival.fill, args=(chain((first,), progress),), name="seer-copy").start()
        else:
            for _ in progress:
                pass
        return arrival.memory


def _pieces(copy: Any, size: int) -> Iterator[int]:
    """Copies piece by piece, with the next one already under way; yields how many bytes are in their place."""
    copy.begin(0, 0, min(PIECE, size))
    for number, start in enumerate(range(0, size, PIECE)):
        stop = min(start + PIECE, size)
        if stop < size:
            copy.begin(number + 1, stop, min(stop + PIECE, size))
        copy.end(number, start, stop)
        yield stop
