"""Starts the Jupyter server, starts it again when it dies, and ends it with itself."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from typing import List, Optional

from .. import settings
from ..kernel.processes import died_of
from . import places

TIMES, WITHIN = 5, 60.0  # so many deaths in so many seconds are too many
GRACE = 8.0
_CHILD = ("import sys; sys.path.insert(0, sys.argv[1]); from seer_notebook.server import late; "
          "late.main(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))")


class Ending(Exception):
    """A signal has asked for the end."""


def main(argv: List[str]) -> int:
    """The exit code: 0 after SIGTERM, 1 when the server cannot live, 2 for a mistake in the configuration, 98 for a taken port."""
    parser = argparse.ArgumentParser(prog="seer_notebook", description="The notebook service of a sandbox.")
    parser.add_argument("--config", required=True, metavar="FILE", help="a JSON file as docs/notebook.md says; - for the standard input")
    options = parser.parse_args(argv)
    try:
        data = settings.read(options.config)
        wanted = settings.parse(data)
    except settings.Mistake as e:
        say("%s: %s" % (options.config, e))
        return 2
    try:
        listening = listen(wanted.ip, wanted.port)
    except OSError as e:
        say("port %d of %s: %s" % (wanted.port, wanted.ip, "it is taken" if e.errno == errno.EADDRINUSE else e.strerror or e))
        return 98 if e.errno == errno.EADDRINUSE else 2
    say("listening at http://%s:%d%s" % (wanted.ip, listening.getsockname()[1], wanted.base_url))
    private = places.make()
    try:
        return Supervisor(data, listening, private).run()
    finally:
        places.remove(private)


def listen(ip: str, port: int) -> socket.socket:
    family, kind, proto, _, address = socket.getaddrinfo(ip, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, proto)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


class Supervisor:
    """It holds the socket, so that who connects while the server starts again has only to wait."""

    def __init__(self, config: bytes, listening: socket.socket, private: str) -> None:
        self._config, self._listening, self._private = config, listening, private
        self._child: Optional[subprocess.Popen] = None

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._asked)
        deaths: List[float] = []
        try:
            while True:
                self._start()
                assert self._child is not None
                code = self._child.wait()
                deaths = [t for t in deaths if time.monotonic() - t < WITHIN] + [time.monotonic()]
                say("the Jupyter server ended: " + died_of(code).replace("the kernel", "it"))
                if len(deaths) >= TIMES:
                    say("it ended %d times in %d seconds and is not started again" % (TIMES, WITHIN))
                    return 1
                time.sleep(0.2 * len(deaths))
        except Ending:
            self._stop()
            return 0

    def _asked(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        raise Ending

    def _start(self) -> None:
        folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        fd = self._listening.fileno()
        command = [sys.executable, "-u", "-c", _CHILD, folder, str(fd), self._private, str(os.getpid())]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=2, start_new_session=True, pass_fds=[fd],
                                       env=_environment(folder))
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(self._config)
            self._child.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already, and wait tells how

    def _stop(self) -> None:
        """The server saves its notebooks and ends its kernels; what it cannot end in time is killed."""
        child = self._child
        if child is None:
            return
        child.terminate()
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        from ..sessions import store  # not before: it needs nothing, but the kernels' file

        for lost in store.load(os.path.join(self._private, store.FILE)).get("sessions", []):
            store.end_kernel(lost)


def _environment(folder: str) -> dict:
    """Without the folder of this package: kernels have no use for it."""
    env = dict(os.environ)
    paths = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p and os.path.abspath(p) != folder]
    env.pop("PYTHONPATH", None)
    if paths:
        env["PYTHONPATH"] = os.pathsep.join(paths)
    return env


def say(text: str) -> None:
    print("seer-notebook: " + text, file=sys.stderr, flush=True)
