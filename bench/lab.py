"""The place of the measurements: folders, programs and processes that nothing else uses, and the end of them."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

TOP = Path(__file__).resolve().parent.parent
HERE = TOP / "bench"

EXPERIMENT = "name: bench\nsandbox: {provider: local, isolation: %s, timeout: 15m}\n"
ON_CLOUD = "name: bench\nsandbox: {provider: %s, timeout: 15m}\n"


class Lab:
    """A copy of bin/, so that a build meanwhile changes nothing, and a HOME of its own."""

    def __init__(self, python: str, requests: str, wheels: str, change: str, clients: str) -> None:
        self.python, self.requests = python, requests
        self.clients = clients  # folder of the Hub's official clients
        self.wheels, self.change = wheels, change  # folders: those of a notebook, and what makes a change of 1 GB
        self.root = Path(tempfile.mkdtemp(prefix="seer-bench-"))
        self.bin = self.root / "bin"
        # Outlines of models are sparse files as large as the models, which a copy would fill.
        shutil.copytree(TOP / "bin", self.bin, ignore=shutil.ignore_patterns("outlines"))
        self.seer = str(self.bin / "seer")
        self.env = self._environment()
        self.processes: List["subprocess.Popen[str]"] = []
        self.peak = 0.0  # MiB of memory that the last process had at once
        self.prefix: List[str] = []  # of what is run and measured, such as `ip netns exec NAME`
        self._helper: Optional["subprocess.Popen[str]"] = None
        for isolation in ("bubblewrap", "none"):
            self.experiment(isolation).write_text(EXPERIMENT % isolation)

    def _environment(self) -> Dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SEER_", "XDG_", "PYTHON"))}
        for name in ("home", "run"):
            (self.root / name).mkdir(mode=0o700)
        env.update(HOME=str(self.root / "home"), XDG_RUNTIME_DIR=str(self.root / "run"), SEER_PYTHON=self.python, NO_COLOR="1")
        return env

    @property
    def cache(self) -> Path:
        return self.root / "home" / ".cache" / "seer"

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    def experiment(self, name: str) -> Path:
        """That of an isolation or of a cloud."""
        return self.root / (name + ".yaml")

    def run(self, *argv: str, **environment: str) -> float:
        """Runs a process to its end, with all its output thrown away, and returns how long that took."""
        env = dict(self.env, **environment)
        argv = (*self.prefix, *argv)
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
        errors = self.root / "stderr"
        actions = null + [(os.POSIX_SPAWN_OPEN, 2, str(errors), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
        begin = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
        took = time.perf_counter() - begin
        self.peak = used.ru_maxrss / 1024
        if status:
            raise SystemExit("bench: %s failed: %s" % (" ".join(argv), errors.read_text()))
        return took

    def output(self, *argv: str) -> str:
        return subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout

    def start(self, *argv: str) -> str:
        """Starts a peer and returns the first line that it prints: where it listens."""
        process = subprocess.Popen(argv, env=dict(self.env, PYTHONPATH=self.requests), stdout=subprocess.PIPE, universal_newlines=True)
        self.processes.append(process)
        assert process.stdout
        return process.stdout.readline().strip()

    def helper(self, op: str, **request: Any) -> Dict[str, Any]:
        """Asks for a measurement in Go; see bench/helper."""
        if self._helper is None:
            argv = [*self.prefix, str(self.bin / "bench-helper"), str(self.bin / "runtime"), str(self.bin / "plugins"), self.python]
            self._helper = subprocess.Popen(argv, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        assert self._helper.stdin and self._helper.stdout
        self._helper.stdin.write(json.dumps(dict(request, op=op)) + "\n")
        self._helper.stdin.flush()
        line = self._helper.stdout.readline()
        if not line:
            raise SystemExit("bench: the helper ended while it measured %s" % op)
        return json.loads(line)

    def end_helper(self) -> None:
        """Has the next measurement in Go start another helper."""
        if self._helper is not None and self._helper.stdin:
            self._helper.stdin.close()
            self._helper.wait()
        self._helper = None

    def use_peers(self) -> None:
        """From here on, this program finds the packages of the peers."""
        if self.requests not in sys.path:
            sys.path.append(self.requests)

    def timed(self, op: str, **request: Any) -> Callable[[], float]:
        return lambda: float(self.helper(op, **request)["seconds"])

    def repeated(self, op: str, **request: Any) -> Callable[[int], List[float]]:
        return lambda n: list(self.helper(op, count=n, **request)["samples"])

    def cloud(self, name: str) -> None:
        """Starts the fake cloud, and leads all commands to it."""
        self.experiment(name).write_text(ON_CLOUD % name)
        self.env.update(self.helper("start", cloud=name, dir=str(self.root / ("cloud-" + name))))

    def up(self, name: str, experiment: str) -> None:
        self.run(self.seer, "up", "--yes", str(self.experiment(experiment)), "--name", name, "--quiet")

    def library(self, isolation: str, interface: str, name: str) -> Any:
        """Serves an interface in a new sandbox, and imports what an agent would import."""
        out = self.folder("libraries")
        self.up(isolation, isolation)
        self.run(self.seer, "serve", isolation, str(HERE / interface), "--as", "library", "--name", name, "--out", str(out))
        if str(out) not in sys.path:
            sys.path.insert(0, str(out))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def close(self) -> None:
        down = [self.seer, "down", "--all"]
        subprocess.run(down, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.end_helper()  # and with it the clouds end
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.root, ignore_errors=True)
