"""What the service answers when it does not do what was asked."""

from __future__ import annotations

import errno

STATUS = {"invalid": 400, "unauthorized": 401, "forbidden": 403, "not_found": 404, "conflict": 409, "failed": 422,
          "internal": 500, "unavailable": 503, "no_space": 507}
CODES = {status: code for code, status in STATUS.items()}


class Refused(Exception):
    """A request that is not carried out. code is a key of STATUS; message says why and what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def from_os(doing: str, error: OSError) -> Refused:
    """A full disk is told from the rest: whoever reads it can do something about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Refused("no_space", "%s: the disk is full" % doing)
    return Refused("internal", "%s: %s" % (doing, error.strerror or error))
