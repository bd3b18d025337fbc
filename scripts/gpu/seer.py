"""The program under test, and its sandboxes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

HERE = Path(__file__).resolve().parent


class Failed(Exception):
    """A command has failed; the text is what it said."""


class Seer:
    """Runs the program with records of its own."""

    def __init__(self, program: str, work: Path, device: str, seconds: float) -> None:
        """device is cuda, or cpu for tests without a GPU. A command may take so many seconds."""
        self.program, self.work, self.device, self._seconds = program, work, device, seconds
        self.state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "seer-check-gpu"
        self.gpu: Optional[str] = None  # the name by which an experiment asks for one
        self.snapshots: List[str] = []
        self.floor: Dict[str, float] = {}  # seconds that bare programs took

    def run(self, *args: str, check: bool = True) -> str:
        """What a command writes to stdout. Failed says what it wrote to stderr."""
        done = self._run([self.program, "--state-dir", str(self.state), *args])
        if check and done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise Failed("seer %s: exit code %d: %s" % (args[0], done.returncode, said[-600:]))
        return done.stdout

    def json(self, *args: str) -> Any:
        """The same, read as JSON."""
        return json.loads(self.run(*args, "--json"))

    def up(self, name: str, kind: str, snapshot: str = "", **more: Any) -> float:
        """Starts a sandbox of that isolation with a GPU; returns seconds. more are fields of sandbox."""
        fields = {"provider": "local", "isolation": kind, "network": "none", "timeout": "20m", **more}
        if self.device == "cuda":
            fields["gpu"] = self.gpu
        file = self.work / ("%s.yaml" % name)
        file.write_text(json.dumps({"name": name, "sandbox": fields}))  # JSON is YAML
        begun = time.monotonic()
        self.run("up", "--yes", "-q", str(file), "--name", name, *(["--snapshot", snapshot] if snapshot else []))
        return time.monotonic() - begun

    @contextlib.contextmanager
    def sandbox(self, name: str, kind: str, **more: Any) -> Iterator[float]:
        """A sandbox for a while. Gives the seconds of its start."""
        try:
            yield self.up(name, kind, **more)
        finally:
            self.run("down", name, "-q", check=False)

    def serve(self, name: str, file: str, service: str) -> float:
        """Serves a file of this folder as a library below the work folder; returns seconds."""
        begun = time.monotonic()
        self.run("serve", name, str(HERE / file), "--as", "library", "--name", service, "--out", str(self.work / name), "-q")
        return time.monotonic() - begun

    def bare(self, *args: str, name: str = "") -> Any:
        """The JSON that a program of this folder prints, outside of all sandboxes, with the libraries of a sandbox."""
        path = {"PYTHONPATH": str(self.work / name)} if name else {}
        done = self._run([sys.executable, "-B", str(HERE / args[0]), *args[1:]], **path)
        if done.returncode:
            raise Failed("%s: exit code %d: %s" % (" ".join(args[:2]), done.returncode, done.stderr.strip().rpartition("\n")[2]))
        return json.loads(done.stdout.splitlines()[-1])

    def _run(self, command: List[str], **more: str) -> "subprocess.CompletedProcess[str]":
        """more are environment variables. Nothing may go to the network."""
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", **more}
        return subprocess.run(command, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self._seconds,
                              env=environment)
