"""Where Jupyter keeps what it needs for itself: not among the files of whoever works here."""

from __future__ import annotations

import fcntl
import glob
import importlib.util
import os
import shutil
import sys
import tempfile
import uuid
from typing import Any

PREFIX = "seer-notebook-"
SOCKETS = "seer-kernels-"
_LOCK = "lock"
_LONGEST = 103  # bytes of the path of a Unix socket, on all systems


def make() -> str:
    """A private folder that is in use until this process ends. Those of processes that were killed are removed."""
    for old in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), PREFIX + "*")):
        _remove_if_left(old)
    private = tempfile.mkdtemp(prefix=PREFIX)
    _lock(private, os.O_CREAT | os.O_EXCL)
    return private


def sockets(private: str) -> str:
    """A new folder for the sockets of kernels, which nobody but this user gets to; "" where none is short enough for them.

    What a kernel says at a port can be read without its key, by everybody who shares the network of this machine.
    """
    _clean(private)
    for where in ("/dev/shm", tempfile.gettempdir(), "/tmp"):  # the first is not among the files that are saved with the processes
        try:
            folder = tempfile.mkdtemp(prefix=SOCKETS, dir=where)
        except OSError:
            continue
        if len(os.fsencode(os.path.join(folder, "kernel-%s-ipc-99" % uuid.uuid4()))) <= _LONGEST:
            os.symlink(folder, os.path.join(private, "sockets"))
            return folder
        os.rmdir(folder)
    return ""


def _clean(private: str) -> None:
    """Removes the sockets of a server that has ended: its kernels have, too, or are ended."""
    link = os.path.join(private, "sockets")
    if os.path.islink(link):
        shutil.rmtree(os.readlink(link), ignore_errors=True)
        os.unlink(link)


def remove(private: str) -> None:
    """Removes the folder of make and everything that belongs to it."""
    _clean(private)
    shutil.rmtree(private, ignore_errors=True)


def search() -> None:
    """Tells Jupyter where packages below this virtual environment have put configuration and data: it looks in its own prefix only."""
    for variable, part in (("JUPYTER_CONFIG_PATH", "etc/jupyter"), ("JUPYTER_PATH", "share/jupyter")):
        folders = [f for f in os.environ.get(variable, "").split(os.pathsep) if f]
        for packages in sys.path:
            if os.path.basename(packages) in ("site-packages", "dist-packages"):
                folder = os.path.normpath(os.path.join(packages, "..", "..", "..", part))  # of PREFIX/lib/pythonX.Y/site-packages
                if os.path.isdir(folder) and folder not in folders:
                    folders.append(folder)
        if folders:
            os.environ[variable] = os.pathsep.join(folders)


def configure(config: Any, private: str) -> None:
    """Tells Jupyter and the extension of the shared document to keep their files there."""
    from ..document.contents import Checkpoints, Contents

    config.ServerApp.contents_manager_class = Contents
    config.ContentsManager.checkpoints_class = type("Checkpoints", (Checkpoints,), {"folder": os.path.join(private, "checkpoints")})
    config.YDocExtension.session_store_path = os.path.join(private, "collaboration.json")
    if importlib.util.find_spec("jupyter_server_ydoc") is None:
        return
    from ..document.history import kept_at

    config.YDocExtension.ystore_class = kept_at(os.path.join(private, "shared.db"))


def _lock(folder: str, more: int = 0) -> int:
    """Locks a folder; the file stays open, and the lock held, until this process ends. OSError where it is held already."""
    fd = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CLOEXEC | more, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _remove_if_left(folder: str) -> None:
    from ..sessions import store

    try:
        s = os.lstat(folder)
        if s.st_uid != os.geteuid() or os.path.islink(folder):
            return
        fd = _lock(folder)
    except OSError:  # in use, or not made by us
        return
    for lost in store.load(os.path.join(folder, store.FILE)).get("sessions", []):
        store.end_kernel(lost)
    remove(folder)
    os.close(fd)
