"""What was started ends, however the program does."""

import os
import signal
import subprocess
import sys
import time

from seer import EngineError
from seer._engine import engine
from seer.environment import Sandbox
from support import PATIENCE, Case, states

STARTED = """
    import os, sys, time
    from support import config
    from seer.environment import Sandbox
    sandbox = Sandbox(config()).start()
    print(sandbox.sandbox_id, flush=True)
"""


class TestEnds(Case):
    def test_end_of_the_program(self):
        child, sandbox = self.program(STARTED)
        self.assertEqual(child.wait(PATIENCE), 0)
        self.assertNotEqual(states()[sandbox], "running")

    def test_exception(self):
        child, sandbox = self.program(STARTED + "    raise SystemExit(7)\n")
        self.assertEqual(child.wait(PATIENCE), 7)
        self.assertNotEqual(states()[sandbox], "running")

    def test_killed(self):
        child, sandbox = self.program(STARTED + "    time.sleep(1000)\n")
        self.assertEqual(states()[sandbox], "running")
        child.kill()
        self.ends(sandbox)

    def test_interrupted(self):
        child, sandbox = self.program(STARTED + "    sandbox.exec('touch running; exec sleep 1000')\n")
        found = Sandbox.from_id(sandbox)
        deadline = time.monotonic() + PATIENCE
        while found.exec("test -e running").exit_code != 0:
            self.assertLess(time.monotonic(), deadline)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=PATIENCE)
        self.assertIn("KeyboardInterrupt", said)
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertNotEqual(states()[sandbox], "running")

    def test_interrupted_start(self):
        child, _ = self.program("""
            import threading, os, signal
            from support import config
            from seer.environment import Sandbox
            def stop(event, text):
                if event["type"] == "boot.started":
                    os.kill(os.getpid(), signal.SIGINT)
            print("here", flush=True)
            Sandbox(config(), progress=stop).start()
        """)
        _, said = child.communicate(timeout=PATIENCE)
        self.assertIn("KeyboardInterrupt", said)
        self.assertNotIn("running", states().values())

    def test_detached(self):
        child, sandbox = self.program(STARTED + "    sandbox.detach()\n")
        self.assertEqual(child.wait(PATIENCE), 0)
        found = Sandbox.from_id(sandbox)
        self.assertEqual(found.exec("echo on").stdout, "on\n")
        found.terminate()
        self.assertNotEqual(states()[sandbox], "running")

    def test_engine_is_killed(self):
        sandbox = self.start()
        pid = engine()._process.pid
        os.kill(pid, signal.SIGKILL)
        with self.assertRaises(EngineError):
            for _ in range(1000):
                sandbox.exec("true")
                if engine()._process.pid != pid:
                    raise EngineError("another process has taken over")
        self.assertEqual(sandbox.exec("echo on").stdout, "on\n")  # of another process

    def test_fork(self):
        sandbox = self.start()
        child = os.fork()
        if child == 0:  # it has an engine of its own, which does not end what the parent has
            code = 1
            try:
                code = 0 if Sandbox.from_id(sandbox.sandbox_id).exec("echo on").stdout == "on\n" else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)
        self.assertEqual(sandbox.exec("echo on").stdout, "on\n")

    # A child that was forked and lives on; it notes its number.
    FORKED = STARTED.replace("    print(", """
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    open("child", "w").write(str(pid))
    print(""")

    def forked(self, then):
        """Runs a program that has forked, and ends the child afterwards."""
        before = os.getcwd()
        os.chdir(self.dir)
        self.addCleanup(os.chdir, before)
        child, sandbox = self.program(self.FORKED + then)
        pid = int((self.dir / "child").read_text())
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        return child, sandbox

    def test_end_of_a_parent(self):
        """A program ends at once, though a child that it has forked lives on."""
        child, sandbox = self.forked("")
        self.assertEqual(child.wait(PATIENCE), 0)
        self.assertNotEqual(states()[sandbox], "running")

    def test_killed_parent(self):
        child, sandbox = self.forked("    time.sleep(1000)\n")
        self.assertEqual(states()[sandbox], "running")
        child.kill()
        self.ends(sandbox)

    def test_end_of_a_child(self):
        """A child ends as programs do, and the engine of its parent goes on."""
        child, line = self.program("""
            import os, sys
            from support import config
            from seer.environment import Sandbox
            sandbox = Sandbox(config()).start()
            pid = os.fork()
            if pid == 0:
                sandbox = None
                sys.exit()
            _, status = os.waitpid(pid, 0)
            print(status, sandbox.exec("echo on").stdout.strip(), flush=True)
        """)
        self.assertEqual((line, *child.communicate(timeout=PATIENCE)), ("0 on", "", ""))

    def test_engine_that_does_not_end(self):
        program = self.write("seer", f"""\
            #!{sys.executable}
            import json, sys, time
            for line in sys.stdin:
                print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {{"sandboxes": []}}}}), flush=True)
            time.sleep(1000)
        """)
        program.chmod(0o755)
        child, _ = self.program(f"""
            import os
            os.environ["SEER_PROGRAM"] = {str(program)!r}
            from seer._engine import process
            from support import states
            process.ENDING = 0.1
            print("here", states(), flush=True)
        """)
        _, said = child.communicate(timeout=PATIENCE)
        self.assertRegex(said, "the engine did not end within 0.1 s and was killed")
        self.assertEqual(child.returncode, 0)

    def test_nothing_is_printed(self):
        child, _ = self.program(STARTED)
        out, said = child.communicate(timeout=PATIENCE)
        self.assertEqual((out, said), ("", ""))
        self.assertEqual(subprocess.run(["true"]).returncode, 0)
