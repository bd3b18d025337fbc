"""Real child processes of calls: all of a cancelled call's end, and none of another's."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List

from harness import alive

from seer_worker.process import children, context
from seer_worker.process.context import Scope

PATIENCE = 120.0  # seconds: what has not come by then never will
LONG = [sys.executable, "-S", "-c", "import time; time.sleep(100)"]
DEAF = [sys.executable, "-S", "-c", "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(100)"]
# Starts a daemon as the books say: it leaves the session and its parent, and tells its pid by a file.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(%r, "w").write(str(os.getpid()))
        time.sleep(100)
    os._exit(0)
os.wait()
"""


class ChildrenOnLinux(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        children.install()

    def setUp(self) -> None:
        self.scopes: List[Scope] = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(lambda: [children.end(s, 0) for s in self.scopes])

    def call(self, function: Callable[[], Any]) -> "tuple[Scope, Any]":
        scope = Scope("call-%d" % len(self.scopes))
        self.scopes.append(scope)
        token = context.enter(scope)
        try:
            return scope, function()
        finally:
            context.leave(token)

    def popen(self, argv: List[str] = LONG, **options: Any) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(argv, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if process.stdout:
            self.addCleanup(process.stdout.close)
        return process

    def pid_in(self, path: str) -> int:
        deadline = time.monotonic() + PATIENCE
        while not (os.path.exists(path) and os.path.getsize(path)):
            self.assertLess(time.monotonic(), deadline, path)
            time.sleep(0.01)
        with open(path) as file:
            return int(file.read())

    def test_only_its_own(self) -> None:
        before = self.popen()
        first, one = self.call(self.popen)
        second, two = self.call(lambda: [self.popen(start_new_session=True), self.popen(env={})])
        self.assertEqual(children.find(first), [one.pid])
        self.assertEqual(children.find(second), sorted(p.pid for p in two))
        self.assertEqual(children.end(second, PATIENCE), 2)
        self.assertEqual([p.wait() for p in two], [-signal.SIGTERM] * 2)
        self.assertTrue(alive(before.pid) and alive(one.pid))
        self.assertEqual(children.end(second), 0)

    def test_nothing_was_started(self) -> None:
        scope, _ = self.call(lambda: None)
        self.assertFalse(scope.children)
        self.assertEqual((children.find(scope), children.end(scope)), ([], 0))
        threads = threading.active_count()
        children.end_soon(scope)
        self.assertEqual(threading.active_count(), threads)

    def test_kill_after_the_grace(self) -> None:
        scope, process = self.call(lambda: self.popen(DEAF, stdout=subprocess.PIPE))
        process.stdout.readline()
        children.end(scope, 0.1)
        self.assertEqual(process.wait(), -signal.SIGKILL)

    def test_a_stopped_one(self) -> None:
        scope, process = self.call(self.popen)
        process.send_signal(signal.SIGSTOP)
        children.end(scope, PATIENCE)
        self.assertEqual(process.wait(), -signal.SIGTERM)

    def test_descendants(self) -> None:
        pid = self.folder + "/pid"
        script = "env -i sh -c 'sleep 100 & echo $! > %s; wait' & wait" % pid
        scope, shell = self.call(lambda: self.popen(["sh", "-c", script]))
        grandchild = self.pid_in(pid)
        self.assertIn(grandchild, children.find(scope))
        children.end(scope)
        self.assertFalse(alive(grandchild) or alive(shell.pid))

    def test_daemons(self) -> None:
        """With an exec between and without; their parents have gone."""
        def by_exec() -> None:
            subprocess.run([sys.executable, "-S", "-c", DAEMON % (self.folder + "/exec")], check=True)

        def by_fork() -> None:
            if os.fork() == 0:
                try:
                    exec(DAEMON % (self.folder + "/fork"))
                finally:
                    os._exit(0)
            os.wait()

        def by_setsid() -> None:
            os.system("setsid sh -c 'echo $$ > %s/sh; sleep 100' &" % self.folder)

        for function, name in ((by_exec, "exec"), (by_fork, "fork"), (by_setsid, "sh")):
            with self.subTest(name):
                scope, _ = self.call(function)
                other, process = self.call(self.popen)
                pid = self.pid_in(self.folder + "/" + name)
                self.assertIn(pid, children.find(scope))
                children.end(scope)
                self.assertFalse(alive(pid))
                self.assertTrue(alive(process.pid))
                children.end(other)

    def test_ways_to_start_one(self) -> None:
        def forked() -> int:
            pid = os.fork()
            if pid == 0:
                time.sleep(100)
                os._exit(0)
            self.addCleanup(lambda: os.waitpid(pid, 0))
            return pid

        def spawned() -> int:
            pid = os.posix_spawn(LONG[0], LONG, os.environ)
            self.addCleanup(lambda: os.waitpid(pid, 0))
            return pid

        def multi(kind: str) -> int:
            process = multiprocessing.get_context(kind).Process(target=time.sleep, args=(100,))
            process.start()
            self.addCleanup(process.join)
            return process.pid or 0

        def by_thread() -> int:
            found: List[int] = []
            thread = threading.Thread(target=lambda: found.append(self.popen().pid))
            thread.start()
            thread.join()
            return found[0]

        def by_pool() -> int:
            return pool.submit(lambda: self.popen().pid).result()

        def by_asyncio() -> int:
            async def start() -> int:
                process = await asyncio.create_task(asyncio.create_subprocess_exec(*LONG))
                return process.pid

            return asyncio.run(start())

        ways = [forked, spawned, lambda: multi("fork"), lambda: multi("spawn"), by_thread, by_pool, by_asyncio]
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()  # its thread is older than any of the calls
            for way in ways:
                with self.subTest(getattr(way, "__name__", "")):
                    scope, pid = self.call(way)
                    self.assertIn(pid, children.find(scope))
                    children.end(scope)
                    self.assertFalse(alive(pid))

    def test_calls_side_by_side(self) -> None:
        started = threading.Barrier(4)
        found: dict[int, tuple[Scope, int]] = {}

        def work(number: int) -> None:
            def run() -> int:
                started.wait()
                return self.popen().pid

            found[number] = self.call(run)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for scope, pid in found.values():
            self.assertEqual(children.find(scope), [pid])
        children.end(found[2][0])
        self.assertEqual([alive(pid) for _, pid in (found[n] for n in range(4))], [True, True, False, True])

    def test_soon(self) -> None:
        scope, process = self.call(self.popen)
        children.end_soon(scope)
        self.assertEqual(process.wait(120), -signal.SIGTERM)

    def test_many_children(self) -> None:
        """What is remembered of them does not grow, and a long call can still be ended."""
        def many() -> "subprocess.Popen[bytes]":
            last = self.popen()
            for _ in range(300):
                os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
            return last

        scope, process = self.call(many)
        self.assertLess(len(children._owners), 300)
        self.assertEqual(children.find(scope), [process.pid])

    def test_system_answers_as_ever(self) -> None:
        _, status = self.call(lambda: os.system("exit 3"))
        self.assertEqual(status >> 8, 3)
        self.assertEqual(os.system("exit 4") >> 8, 4)


if not sys.platform.startswith("linux"):
    del ChildrenOnLinux  # elsewhere only direct children are known

if __name__ == "__main__":
    unittest.main()
