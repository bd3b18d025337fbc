"""The conversation with the engine before the runtime is there."""
import errno
import hashlib
import hmac

from .http import answer, fail, read_head
from .program import Program


class Requests:
    """Answers the engine until a runtime starts. A runtime that is to start goes to start, with the connection that waits for the
    answer."""

    def __init__(self, boot, store, start):
        self.boot, self.store, self.start = boot, store, start

    def serve(self, conn):
        """Answers one request. Whoever has no token gets ten seconds and 16 KiB of attention."""
        try:
            method, path, headers, rest = read_head(conn)
            kind, _, token = headers.get("authorization", "").partition(" ")
            digest = hashlib.sha256(token.encode("latin-1")).hexdigest()
            if kind.lower() != "bearer" or not hmac.compare_digest(digest, self.boot["admin_sha256"].lower()):
                return fail(conn, "unauthorized", "this needs the admin token of the machine")
            conn.settimeout(120)
            if (method, path) == ("GET", "/loader/v1"):
                return answer(conn, "200 OK", self.store.describe())
            if (method, path) == ("POST", "/loader/v1/push"):
                return self.store.push(conn, headers, rest)
            if (method, path) == ("POST", "/loader/v1/start"):
                return self.start_runtime(conn, *self.store.wanted(headers))
            fail(conn, "unavailable", "the runtime has not been started yet")
        except OSError as e:
            code = "no_space" if e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "internal"
            fail(conn, code, "the runtime could not be stored in %s: %s", self.store.cache, e)
        except ValueError as e:
            fail(conn, "invalid", "the loader does not understand this request: %s", e)
        except Exception as e:  # the client would wait for an answer until the boot time is over
            fail(conn, "internal", "the loader has a defect: %r", e)

    def start_runtime(self, conn, want, path):
        try:
            program = Program(path, want)
        except (FileNotFoundError, LookupError):
            return fail(conn, "conflict", "need_binary")
        self.start(program, conn)
