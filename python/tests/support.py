"""What the tests share."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

from seer.environment import Sandbox, SandboxConfig

PATIENCE = 60  # seconds, for what must come


def config(**more):
    """A small sandbox of this computer."""
    return SandboxConfig(**{"gpu": None, "provider": "local", "execution_mode": None, "timeout": 600, **more})


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a test é ")
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def write(self, name, text):
        path = self.dir / name
        path.write_text(textwrap.dedent(text))
        return path

    def start(self, kind=Sandbox, **more):
        sandbox = kind(config(**more)).start()
        self.addCleanup(sandbox.terminate)
        return sandbox

    def program(self, text):
        """Starts a program of Python, and returns it once it has printed a line, and the line."""
        path = self.write("program.py", text)
        child = subprocess.Popen(
            [sys.executable, "-B", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])},
        )
        self.addCleanup(self._stop, child)
        line = child.stdout.readline().strip()
        if not line:
            self.fail(child.stderr.read())
        return child, line

    def _stop(self, child):
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
        child.communicate()

    def ends(self, sandbox):
        """Waits until a sandbox has ended."""
        deadline = time.monotonic() + PATIENCE
        while states().get(sandbox) == "running":
            if time.monotonic() > deadline:
                self.fail(f"{sandbox} runs on")
            time.sleep(0.05)


def states():
    """The states of all sandboxes, by their IDs."""
    from seer._engine import engine, loop

    return {i["id"]: i["state"] for i in loop.wait(engine().call("sandbox.list"))["sandboxes"]}
