"""A worker that ends with its loader, even while code that holds the interpreter is at work."""

import os
import select
import signal
import sys


def end_with(fd: int) -> None:
    """fd is the reading end of a pipe that the loader holds; when it closes, the kernel kills this process."""
    if not sys.platform.startswith("linux"):
        return  # elsewhere the I/O thread's poller sees it
    import fcntl
    # An open file description of its own: the signal is set for it, and all workers have the same pipe.
    own = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(own, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(own, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(own, fcntl.F_SETFL, fcntl.fcntl(own, fcntl.F_GETFL) | os.O_ASYNC)
    os.close(fd)
    waiting = select.poll()
    waiting.register(own, 0)
    if waiting.poll(0):  # it was closed before the kernel was asked to tell
        os.kill(os.getpid(), signal.SIGKILL)
