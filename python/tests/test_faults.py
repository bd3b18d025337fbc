"""What goes wrong around the package: threads, loops, processes and programs that end."""

import asyncio
import os
import signal
import sys
import threading
import time

from seer import EngineError, Error
from seer._engine import engine
from seer.environment import Sandbox, ScopedSandbox
from support import PATIENCE, Case, states

# Speaks a version of the protocol that this package does not.
OTHER_VERSION = """#!{python}
import json, sys
request = json.loads(sys.stdin.readline())
print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "error": {{
    "code": -32000, "message": "the client speaks version 1 of the protocol, and this program version 0",
    "data": {{"kind": "unsupported"}}}}}}), flush=True)
sys.stdin.read()
open({ended!r}, "w").close()
"""

# Ends without a chance to clean up, at one point of its work.
PHASES = """
    import os, signal, threading
    from pathlib import Path
    from support import config
    from seer.environment import Sandbox, ScopedSandbox
    from seer.execution import create_cli_session
    from seer.workspace import Workspace
    phase = {phase!r}
    def die():
        os.kill(os.getpid(), signal.SIGKILL)
    def hear(event, text):
        if event["type"] == phase:
            die()
    def beside(work):
        threading.Thread(target=work, daemon=True).start()
    def die_when_running():
        while sandbox.exec("test -e /workspace/running").exit_code:
            pass
        die()
    print("here", flush=True)
    if phase.startswith("session."):
        sandbox = Sandbox(config(execution_mode="cli"), progress=hear).start()
        create_cli_session(sandbox, Workspace(init="x = 1"), workspace_dir={folder!r})
    sandbox = ScopedSandbox(config(), progress=hear).start()
    if phase == "exec":
        beside(lambda: sandbox.exec("touch running; exec sleep 1000"))
        die_when_running()
    if phase == "upload":
        pipe = {folder!r} + "/pipe"
        os.mkfifo(pipe)
        beside(lambda: sandbox.upload(pipe, "/workspace/uploaded"))
        with open(pipe, "wb") as file:  # the engine has opened it
            file.write(bytes(1 << 20))
            die()
    if phase == "terminate":
        beside(sandbox.terminate)
        die()
    if phase.startswith("snapshot."):
        sandbox.snapshot("never saved")
    library = sandbox.serve({file!r})
    if phase == "call":
        beside(library.f)
        die_when_running()
    raise SystemExit("never came to " + phase)
"""


class TestFaults(Case):
    def test_closed_loop(self):
        """A loop that is closed while a command runs harms neither the command nor later loops."""
        sandbox = self.start()

        async def begin():
            asyncio.ensure_future(sandbox.exec.aio("sleep 0.2; touch /workspace/done"))
            await asyncio.sleep(0)

        loop = asyncio.new_event_loop()
        loop.run_until_complete(begin())
        pending = asyncio.all_tasks(loop)
        loop.close()
        for task in pending:  # nobody can end it any more
            task._log_destroy_pending = False
        self.assertEqual(sandbox.exec("while [ ! -e /workspace/done ]; do sleep 0.1; done", timeout=PATIENCE).exit_code, 0)
        self.assertEqual(asyncio.run(self.said(sandbox)), "on\n")

    async def said(self, sandbox):
        return (await sandbox.exec.aio("echo on")).stdout

    def test_no_loop(self):
        sandbox = self.start()
        with self.assertRaisesRegex(RuntimeError, "aio needs a running event loop"):
            sandbox.exec.aio("touch /workspace/ran")
        self.assertEqual(sandbox.exec("test -e /workspace/ran").exit_code, 1)

    def test_interrupted_thread(self):
        """Ctrl-C ends what the main thread waits for, and nothing of another thread."""
        child, line = self.program("""
            import os, signal, threading
            from support import config
            from seer.environment import Sandbox
            sandbox = Sandbox(config()).start()
            said = []
            other = threading.Thread(target=lambda: said.append(sandbox.exec("while [ ! -e go ]; do sleep 0.1; done; echo other").stdout))
            other.start()
            def interrupt():
                while sandbox.exec("test -e mine").exit_code:
                    pass
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            try:
                sandbox.exec("echo $$ > mine; exec sleep 1000")
            except KeyboardInterrupt:
                gone = sandbox.exec("while kill -0 $(cat mine) 2>/dev/null; do sleep 0.1; done", timeout=600).exit_code
                sandbox.exec("touch go")
                other.join()
                print(gone == 0, said, flush=True)
        """)
        self.assertEqual(line, "True ['other\\n']")
        self.assertEqual(child.wait(PATIENCE), 0)

    def test_killed_in_each_phase(self):
        file = self.write("tools.py", """
            @expose
            def f():
                import time
                open("/workspace/running", "w").close()
                time.sleep(1000)
        """)
        for phase in (
            "preflight.started", "boot.started", "boot.ready", "session.interpreter_preparing", "service.loading",
            "exec", "call", "upload", "snapshot.saving", "terminate",
        ):
            with self.subTest(phase):
                child, _ = self.program(PHASES.format(phase=phase, file=str(file), folder=str(self.dir)))
                _, said = child.communicate(timeout=PATIENCE)
                self.assertEqual(child.returncode, -signal.SIGKILL, said)
        deadline = time.monotonic() + PATIENCE
        while {"running", "pending"} & set(states().values()):
            self.assertLess(time.monotonic(), deadline, states())
            time.sleep(0.1)

    def test_two_processes(self):
        """Two programs use one sandbox; it ends with the one that has made it, or earlier."""
        sandbox = self.start(ScopedSandbox)
        child, line = self.program(f"""
            from seer.environment import ScopedSandbox
            found = ScopedSandbox.from_id({sandbox.sandbox_id!r})
            found.write_file("/workspace/other", "process")
            library = found.serve({str(self.write("tools.py", "@expose" + chr(10) + "def f(): return 7"))!r})
            print(library.f(), flush=True)
        """)
        self.assertEqual((line, child.wait(PATIENCE)), ("7", 0))
        self.assertEqual(sandbox.read_file("/workspace/other"), b"process")  # it has not ended with that one
        child, line = self.program(f"""
            from seer.environment import Sandbox
            Sandbox.from_id({sandbox.sandbox_id!r}).terminate()
            print("ended", flush=True)
        """)
        self.assertEqual((line, child.wait(PATIENCE)), ("ended", 0))
        with self.assertRaises(Error) as caught:
            sandbox.exec("true")
        self.assertIn(sandbox.sandbox_id, str(caught.exception))
        sandbox.terminate()

    def test_engine_is_killed_in_mid_call(self):
        sandbox = self.start()
        failed = []

        def work():
            try:
                sandbox.exec("touch running; exec sleep 1000")
            except EngineError as e:
                failed.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        while Sandbox.from_id(sandbox.sandbox_id).exec("test -e running").exit_code:
            pass
        os.kill(engine()._process.pid, signal.SIGKILL)
        thread.join(PATIENCE)
        self.assertRegex(str(failed[0]), "ended in the middle")
        self.assertEqual(sandbox.exec("echo on").stdout, "on\n")  # by another process

    def with_another_engine(self, code):
        """Starts a program whose engine is the given code; it tries twice, and ends when there is a file "ended"."""
        program = self.write("seer", code)
        program.chmod(0o755)
        return self.program(f"""
            import os
            os.environ["SEER_PROGRAM"] = {str(program)!r}
            from support import config
            from seer import EngineError
            from seer.environment import Sandbox
            for _ in range(2):
                try:
                    Sandbox(config()).start()
                except EngineError as e:
                    said = str(e)
            print(said, flush=True)
            while not os.path.exists({str(self.dir / "ended")!r}):
                pass
        """)

    def test_other_version(self):
        child, line = self.with_another_engine(OTHER_VERSION.format(python=sys.executable, ended=str(self.dir / "ended")))
        self.assertIn("speaks version 1 of the protocol", line)
        self.assertIn("SEER_PROGRAM", line)
        self.assertEqual(child.wait(PATIENCE), 0)

    def test_an_answer_that_cannot_be_read(self):
        code = "import sys; sys.stdin.readline(); print('no message', flush=True); sys.stdin.read()"
        child, line = self.with_another_engine(f"#!{sys.executable}\n{code}\n")
        (self.dir / "ended").touch()
        self.assertIn("its answer cannot be read", line)
        self.assertEqual(child.wait(PATIENCE), 0)

    def test_fork_before_use(self):
        """A child that was forked after the import, and before anything was started."""
        child, line = self.program("""
            import os
            from support import config
            from seer.environment import Sandbox
            r, w = os.pipe()
            pid = os.fork()
            if pid == 0:
                with Sandbox(config()) as sandbox:
                    os.write(w, sandbox.exec("echo child").stdout.encode())
                os._exit(0)
            with Sandbox(config()) as sandbox:
                said = sandbox.exec("echo parent").stdout
            os.waitpid(pid, 0)
            print(said.strip(), os.read(r, 100).decode().strip(), flush=True)
        """)
        self.assertEqual(line, "parent child")
        self.assertEqual(child.wait(PATIENCE), 0)

    def test_descriptors(self):
        """Sandboxes that come and go leave no open file in this process."""
        self.start().terminate()
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(3):
            self.start().terminate()
        self.assertEqual(len(set(os.listdir("/proc/self/fd")) - before), 0)
