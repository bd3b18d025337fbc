"""Jupyter's files: they are replaced whole, and what it keeps of them for itself lies elsewhere."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager
from typing import Any, Iterator

from jupyter_server.services.contents.filecheckpoints import AsyncFileCheckpoints
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from .saving import mode_of


class Contents(AsyncLargeFileManager):  # type: ignore[misc]
    """Jupyter itself writes into the file that is there. Who reads meanwhile finds half of it, and its repair of that takes the
    file away from the writer: a notebook that many look at is gone."""

    @contextmanager
    def atomic_writing(self, os_path: str, text: bool = True, encoding: str = "utf-8", **kwargs: Any) -> Iterator[Any]:
        full = os.path.realpath(os_path)
        if not os.access(os.path.dirname(full), os.W_OK):  # there is no room for another file
            with super().atomic_writing(os_path, text=text, encoding=encoding, **kwargs) as f:
                yield f
            return
        with self.perm_to_403(os_path):
            fd, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(full))
            try:
                with os.fdopen(fd, "w" if text else "wb", **({"encoding": encoding, "newline": "\n"} if text else {})) as f:
                    yield f
                    f.flush()
                    os.fchmod(f.fileno(), mode_of(full))
                os.replace(part, full)
            except BaseException:
                os.unlink(part)
                raise


class Checkpoints(AsyncFileCheckpoints):  # type: ignore[misc]
    """Jupyter puts them into a folder beside each notebook."""

    folder = ""

    def checkpoint_path(self, checkpoint_id: str, path: str) -> str:
        os.makedirs(self.folder, exist_ok=True)
        name = hashlib.sha256(path.strip("/").encode("utf-8", "surrogateescape")).hexdigest()
        return os.path.join(self.folder, "%s-%s" % (name[:40], checkpoint_id))
