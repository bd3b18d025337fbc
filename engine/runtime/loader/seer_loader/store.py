"""Receives runtimes and keeps them."""
import hashlib
import os
import threading

from .http import answer, fail
from .system import scratch_files

PREFIX = "seer-runtime-"
MOST = 1 << 30  # bytes of a runtime


class Store:
    """The folder of runtimes, into which a new one arrives in pieces."""

    def __init__(self, folder):
        self.cache = folder or scratch_files().mkdtemp(prefix="seer-cache-")
        self.lock = threading.Lock()
        self.part = None  # of a runtime that arrives: its SHA-256, its path, how much is there

    def describe(self):
        have = [name[len(PREFIX):] for name in os.listdir(self.cache) if name.startswith(PREFIX) and "." not in name]
        return {"loader": 1, "arch": os.uname().machine, "system": os.uname().sysname, "have": have}

    def wanted(self, headers):
        """The runtime that a request is about: its SHA-256 and its path."""
        want = headers.get("x-seer-sha256", "").lower()
        if len(want) != 64 or want.strip("0123456789abcdef"):
            raise ValueError("X-Seer-Sha256 is not a SHA-256")
        return want, os.path.join(self.cache, PREFIX + want)

    def push(self, conn, headers, rest):
        """Takes a piece of the runtime and tells how much is there. Pieces may come twice, and break off."""
        want, path = self.wanted(headers)
        left, offset, size = (int(headers.get(name, "0")) for name in ("content-length", "x-seer-offset", "x-seer-size"))
        if min(left, offset) < 0 or not 0 < size <= MOST or offset + left > size:
            raise ValueError("a piece of %d bytes at %d of %d" % (left, offset, size))
        with self.lock:
            have = self.arrived(want, path, size)
        while left and have < size and offset <= have:
            chunk = (rest or conn.recv(1 << 18))[:left]
            rest = b""
            if not chunk:
                raise ValueError("the piece did not arrive whole")
            with self.lock:
                have = self.arrived(want, path, size)
                if have < size:
                    have = self.write(chunk, offset)
            offset, left = offset + len(chunk), left - len(chunk)
        with self.lock:
            found = self.finish(want, path, size)
        if found != want:
            return fail(conn, "failed", "the runtime that arrived has the SHA-256 %s, not %s", found, want)
        answer(conn, "200 OK", {"have": have})

    def arrived(self, want, path, size):
        """How much of a runtime is there. Beginning another one gives up what was there of the one before."""
        if self.part and self.part[0] == want:
            return self.part[2]
        if self.intact(path, want):
            return size
        self.drop()
        fd, temporary = scratch_files().mkstemp(prefix=PREFIX, suffix=".part", dir=self.cache)
        os.close(fd)
        self.part = [want, temporary, 0]
        return 0

    def write(self, chunk, offset):
        """Of two requests with the same piece, both may write: it is the same."""
        with open(self.part[1], "r+b") as f:
            f.seek(offset)
            f.write(chunk)
        self.part[2] = max(self.part[2], offset + len(chunk))
        return self.part[2]

    def finish(self, want, path, size):
        """Checks a runtime that is there and puts it into its place; what it returns is its SHA-256."""
        if not self.part or self.part[0] != want or self.part[2] < size:
            return want
        with open(self.part[1], "rb") as f:
            found = hashlib.sha256(f.read()).hexdigest()
        if found == want:
            os.chmod(self.part[1], 0o755)
            os.rename(self.part[1], path)
        self.drop()
        return found

    def drop(self):
        if self.part and os.path.exists(self.part[1]):
            os.unlink(self.part[1])
        self.part = None

    def intact(self, path, want):
        try:
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest() == want
        except FileNotFoundError:
            return False
