"""Progress in a terminal, in a kernel of Jupyter and nowhere, and what else a kernel has of its own."""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

from seer._engine import display
from support import Case

PROGRAM = """
from seer.environment import Sandbox, SandboxConfig
with Sandbox(SandboxConfig(provider="local", gpu=None, execution_mode=None, timeout=600)) as sandbox:
    assert sandbox.exec("echo out").stdout == "out\\n"
"""
# Has a kernel run the code, and prints what it displayed: [message, display_id, data], one by one.
# A cell that prints "interrupt me" is interrupted.
KERNEL = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
try:
    for code in json.loads(sys.stdin.read()):
        asked = client.execute(code)
        while True:
            message = client.get_iopub_msg(timeout=60)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind in ("display_data", "update_display_data", "execute_result", "stream", "error"):
                found = content.get("data") or content.get("text") or content.get("traceback")
                print(json.dumps([kind, content.get("transient", {}).get("display_id"), found]))
                if "interrupt me" in found:
                    manager.interrupt_kernel()
            if kind == "status" and content["execution_state"] == "idle":
                break
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "TERM": "xterm"}


class TestProgress(Case):
    def cells(self, *code):
        """What each of the messages of these cells displays."""
        done = subprocess.run(
            [os.environ["SEER_TEST_JUPYTER"], "-c", KERNEL], input=json.dumps([textwrap.dedent(c) for c in code]),
            stdout=subprocess.PIPE, text=True, check=True, env=environment(), cwd=self.dir,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_in_a_notebook(self):
        # Of the second cell, whose sandbox another cell's engine starts.
        shown = self.cells("from seer._engine import engine, loop; loop.wait(engine().call('sandbox.list')); None", PROGRAM + "sandbox")
        kinds = [kind for kind, _, _ in shown]
        self.assertEqual(kinds[0], "display_data", shown)
        self.assertIn("update_display_data", kinds)
        ids = {number for kind, number, _ in shown if kind == "update_display_data"}
        self.assertLessEqual(ids, {number for kind, number, _ in shown if kind == "display_data"})
        self.assertIn("<progress>", shown[0][2]["text/html"])
        self.assertTrue(any("is ready (" in data["text/html"] for kind, _, data in shown if kind == "update_display_data"), shown)
        self.assertEqual(kinds[-1], "execute_result")
        self.assertIn("<th>State</th><td>stopped</td>", shown[-1][2]["text/html"])

    def test_cells(self):
        """Sessions of cells that await, the interrupt of a cell, tracebacks and objects."""
        shown = self.cells(
            "from seer.environment import Sandbox, SandboxConfig; from seer.execution import create_local_session;"
            " from seer.harness import run_agent; from seer.workspace import Workspace",
            "session = await create_local_session.aio(workspace_dir='agent')",
            """
            async for message in run_agent(task="Go.", provider="command", command=["echo", "an agent"]):
                if message.native:
                    print(message.native)
            """,
            "other = create_local_session(workspace_dir='other', name='other')",
            "async for message in run_agent(task='Go.', provider='command', command=['true']): pass",
            "Sandbox.from_id('sb-none')",
            """
            import threading
            sandbox = Sandbox(SandboxConfig(provider="local", gpu=None, execution_mode=None, timeout=600)).start()
            def running():
                while sandbox.exec("test -e pid").exit_code:
                    pass
                print("interrupt me")
            threading.Thread(target=running).start()
            sandbox.exec("echo $$ > new; mv new pid; exec sleep 1000")
            """,
            "print('alive:', sandbox.exec('kill -0 $(cat pid)').exit_code == 0)",
            "sandbox",
            "sandbox.terminate()",
        )
        said = [text for kind, _, text in shown if kind == "stream"]
        self.assertIn("an agent\n", said)
        self.assertIn("alive: False\n", said)
        several, missing, interrupted = ["\n".join(lines) for kind, _, lines in shown if kind == "error"]
        self.assertIn("2 sessions are open in this context (local, other)", several)
        self.assertIn("there is no sandbox", missing)
        self.assertNotIn("blocking.py", missing)
        self.assertNotIn("harness.py", several)
        self.assertIn("KeyboardInterrupt", interrupted)
        [state] = [data["text/html"] for kind, _, data in shown if kind == "execute_result"]
        self.assertIn("<th>State</th><td>running</td>", state)

    def test_in_a_terminal(self):
        master, slave = pty.openpty()
        child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=slave, env=environment(), cwd=self.dir)
        os.close(slave)
        said = b""
        while True:
            try:
                more = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            said += more
        os.close(master)
        self.assertEqual((child.communicate()[0], child.returncode), (b"", 0), said)
        self.assertIn(b"\r\x1b[Kbooting the runtime", said)
        self.assertTrue(said.endswith(b"\r\x1b[K"), said)

    def test_nowhere(self):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment(), cwd=self.dir)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"", b"", 0))


class TestShown(unittest.TestCase):
    def test_copies_and_warnings(self):
        lines, pages = [], []
        shown = display.Shown(lambda s: (lines.append(display._line(s)), pages.append(display._html(s))))
        shown.event({"kind": "step", "text": "a <b>\x1b[2J", "request": "1", "event": {}})
        shown.event({"kind": "copied", "text": "", "request": "1", "event": {"data": {"bytes": 1, "total": 4}}})
        shown.event({"kind": "warning", "text": "weaker", "request": "1", "event": {}})
        shown.end(False)
        self.assertEqual(lines[1], "[#####               ]  25% a <b> [2J")
        self.assertEqual(pages[1], '<progress value="0.250"></progress> a &lt;b&gt; [2J')
        self.assertTrue(pages[-1].startswith("weaker<br>failed after"), pages[-1])

    def test_warnings_in_a_log(self):
        """Where nobody looks, as in a job of Slurm, only warnings are written, each once."""
        with contextlib.redirect_stderr(io.StringIO()) as log:
            shown = display.new()
            self.assertIsNotNone(shown)
            shown.event({"kind": "step", "text": "booting", "request": "1", "event": {}})
            shown.event({"kind": "warning", "text": "nothing confines\x1b[2J it", "request": "1", "event": {}})
            shown.event({"kind": "done", "text": "ready", "request": "1", "event": {}})
            shown.end(True)
        self.assertEqual(log.getvalue(), "seer: nothing confines [2J it\n")
