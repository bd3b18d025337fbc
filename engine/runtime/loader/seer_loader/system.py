"""What this program says, and what others see of it."""
import os
import sys


def say(text, *values):
    print("seer: " + text % values, file=sys.stderr, flush=True)


def scratch_files():
    import tempfile  # slow to import, and not needed by a machine with a full cache
    return tempfile


def shorten_arguments():
    """Whoever lists processes sees a name, not this text."""
    try:
        import ctypes
        with open("/proc/self/cmdline", "rb") as f:
            words = f.read()
        first = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value
        if ctypes.string_at(first, len(words)) == words:
            ctypes.memset(first, 1, len(words))  # without the zero at the end, the arguments end with the first one
            ctypes.memmove(first, b"seer-loader\0", 12)
    except (ImportError, OSError, ValueError):
        pass  # another system, or another C library


def conceal(name):
    """Takes a variable out of the environment, also of the one that others may see in /proc."""
    value = os.environ.get(name)
    if value is not None:
        try:
            import ctypes
            libc = ctypes.CDLL(None)
            libc.getenv.restype = ctypes.c_void_p
            ctypes.memset(libc.getenv(name.encode()), ord("-"), len(os.fsencode(value)))
            close_memory()
        except Exception as e:
            say("%s could not be wiped out: %s", name, e)
        del os.environ[name]
    return value


def close_memory():
    """From here on no process of the same user reads our memory or our files, the runtime's state among them."""
    if sys.platform.startswith("linux"):
        import ctypes
        if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0):  # PR_SET_DUMPABLE
            say("the memory of this program cannot be closed")
