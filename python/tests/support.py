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
from seer.harness import run_agent

PATIENCE = 60  # seconds, for what must come


def config(**more):
    """A small sandbox of this computer."""
    return SandboxConfig(**{"gpu": None, "provider": "local", "execution_mode": None, "timeout": 600, **more})


class Session:
    """A session as seer.execution has it, of a folder alone."""

    name, prompt, closed = "test", "There is model_tools.", False

    def __init__(self, folder, **mcp):
        self.workspace_dir, self.mcp_config, self.env = Path(folder), mcp, {"GREETING": "hello"}


async def heard(**more):
    """All messages of an agent. Its folder of runs is beside the session's folder."""
    session = more.get("session")
    beside = Path(session.workspace_dir).parent / "runs" if session is not None else None
    return [m async for m in run_agent(**{"runs_dir": beside, **more})]


def said(messages):
    return [m.native for m in messages if m.type == "agent_message_chunk"]


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
