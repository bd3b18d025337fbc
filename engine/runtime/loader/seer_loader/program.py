"""The runtime as a program that nobody changes or reads."""
import errno
import fcntl
import hashlib
import mmap
import os
import signal
import sys

from .system import say


class Program:
    """The runtime. It is read and checked once, and then started from memory that nobody can change or read. Where the system has no
    such memory, its file is checked before every start."""

    def __init__(self, path, want):
        self.path, self.want, self.fd = path, want, None
        self.exposed = True  # to what else runs, until it closes its memory itself
        with open(path, "rb") as f:
            self.seal(f)
            if self.digest(f) != want:
                self.close()
                raise LookupError(path)

    def seal(self, f):
        why = "this system has no files in memory"
        for flags in (0x13, 0x3) if hasattr(os, "memfd_create") else ():  # MFD_EXEC, which old kernels refuse; ALLOW_SEALING, CLOEXEC
            try:
                self.fd = os.memfd_create("seer-runtime", flags)
                break
            except OSError as e:
                why = e
        if self.fd is None:
            return say("%s is checked before every start, because it cannot be sealed: %s", self.path, why)
        while os.sendfile(self.fd, f.fileno(), None, 1 << 24):
            pass
        fcntl.fcntl(self.fd, 1033, 15)  # F_ADD_SEALS: SEAL, SHRINK, GROW, WRITE

    def digest(self, f):
        f = f.fileno() if self.fd is None else self.fd
        size = os.fstat(f).st_size
        if not size:
            return ""
        with mmap.mmap(f, size, prot=mmap.PROT_READ) as data:
            return hashlib.sha256(data).hexdigest()

    def start(self, env):
        """For the main thread only: the runtime ends with the thread that started it."""
        for mode in () if self.fd is None else (0o111, 0o555):
            os.fchmod(self.fd, mode)  # the kernel closes the memory of a program that its user cannot read, from its first instruction on
            try:
                with Unreadable():
                    pid = os.posix_spawn("/proc/self/fd/%d" % self.fd, [self.path], env, setsigdef=[signal.SIGPIPE])
                self.exposed = mode == 0o555
                return pid
            except PermissionError:  # gVisor starts no such program
                if mode == 0o555:
                    raise
        with open(self.path, "rb") as f:
            if self.digest(f) != self.want:
                raise OSError(errno.EBADF, "it was changed")
        return os.posix_spawn(self.path, [self.path], env, setsigdef=[signal.SIGPIPE])

    def close(self):
        if self.fd is not None:
            os.close(self.fd)


class Unreadable:
    """Without the right of root to read every file; a program that is started has it again."""

    def __enter__(self):
        self.own = None
        if os.geteuid() == 0 and "ctypes" in sys.modules:
            import ctypes
            self.libc, self.head, self.own = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
            self.libc.capget(self.head, self.own)
            less = (ctypes.c_uint32 * 6)(*self.own)
            less[0] &= ~6  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            self.libc.capset(self.head, less)

    def __exit__(self, *_):
        if self.own:
            self.libc.capset(self.head, self.own)
