"""Asks NVIDIA's driver to take processes off the GPU and to put them back.

The runtime starts this program, because a static program cannot load the driver's library. Each line of the input is "OPERATION PID
MILLISECONDS"; each is answered with a line of JSON: {"result": the driver's CUresult, "text": its words for it, "state": of the process},
or {"error": why the driver cannot be asked at all, "absent": whether that is since there is no GPU}.
"""
import ctypes
import json
import sys

OPERATIONS = {"lock": "cuCheckpointProcessLock", "checkpoint": "cuCheckpointProcessCheckpoint", "restore": "cuCheckpointProcessRestore",
              "unlock": "cuCheckpointProcessUnlock", "state": "cuCheckpointProcessGetState"}


NO_DEVICE = 100


class Unusable(Exception):
    """Why the driver cannot be asked, and whether that is since there is no GPU."""


class Driver:
    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise Unusable(str(e), True)
        missing = [name for name in OPERATIONS.values() if not hasattr(self.library, name)]
        if missing:
            raise Unusable("it has no %s; driver 570 and newer ones have it" % missing[0], False)
        result = self.library.cuInit(0)  # without it, nothing can be put back on a GPU that nobody else uses
        if result:
            raise Unusable("cuInit: %s (CUDA error %d)" % (self.text(result), result), result == NO_DEVICE)

    def text(self, result):
        text = ctypes.c_char_p()
        self.library.cuGetErrorString(result, ctypes.byref(text))
        return (text.value or b"unknown error").decode(errors="replace")

    def run(self, operation, pid, milliseconds):
        if operation == "state":
            argument = ctypes.c_int(-1)
        else:
            argument = (ctypes.c_uint32 * 16)()  # the arguments of each are 64 bytes, zero but for the timeout of the lock
            argument[0] = milliseconds if operation == "lock" else 0
        result = getattr(self.library, OPERATIONS[operation])(pid, ctypes.byref(argument))
        return {"result": result, "text": self.text(result) if result else "", "state": argument.value if operation == "state" else -1}


def main():
    try:
        driver = Driver()
    except Unusable as e:
        print(json.dumps(dict(zip(("error", "absent"), e.args))), flush=True)
        return
    print("{}", flush=True)
    for line in sys.stdin:
        operation, pid, milliseconds = line.split()
        print(json.dumps(driver.run(operation, int(pid), int(milliseconds))), flush=True)


main()
