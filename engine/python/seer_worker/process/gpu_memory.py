"""What calls use of GPUs, as torch counts it."""

import sys
import threading
from typing import Any, Dict, NamedTuple


class GPUUse(NamedTuple):
    """Bytes that torch had allocated at most while a call ran, and the time of the call for each GPU with such memory."""

    bytes: int = 0
    seconds: float = 0.0


NOTHING = GPUUse()


class GPUMemory:
    """Measures calls, also those that run beside each other: then each has the peak of all. It resets torch's own peak whenever a
    call begins or ends. Without torch, or before torch uses a GPU, nothing is asked and nothing measured. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._peaks: Dict[str, Dict[int, int]] = {}  # by call and device, of the calls that run

    def begin(self, id: str) -> None:
        """A call begins to run."""
        self._look()
        self._peaks[id] = {}

    def end(self, id: str, seconds: float) -> GPUUse:
        """The call has ended after so many seconds. One that has not begun has used nothing."""
        self._look()
        peaks = self._peaks.pop(id, None)
        return GPUUse(sum(peaks.values()), seconds * len(peaks)) if peaks else NOTHING

    def _look(self) -> None:
        """Adds what torch has counted since the last look to the calls that have run since."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return
        try:
            with self._lock:
                self._count(torch.cuda)
        except Exception:  # a torch without these, or half imported: a call does not fail for what measures it
            return

    def _count(self, cuda: Any) -> None:
        if not cuda.is_initialized():
            return
        for device in range(cuda.device_count()):
            most = int(cuda.max_memory_allocated(device))
            cuda.reset_peak_memory_stats(device)
            if most > 0:
                for peaks in list(self._peaks.values()):  # others begin and end meanwhile
                    peaks[device] = max(peaks.get(device, 0), most)
