"""Cancel, timeout, stop and the end of the runtime: each ends what it should, and nothing else."""

import asyncio
import os
import random
import signal
import sys
import threading
import time
import unittest

from harness import LIMIT, Failed, Worker, eventually, serve, serve_class

from seer_worker.execution.loop import LoopThread
from seer_worker.process import interrupts

CODE = '''
import asyncio, os, time
cleaned = []

@expose
def echo(value): return value

@expose
def sleep(seconds):
    started.append(seconds)
    time.sleep(seconds)
    return seconds

started = []

@expose
def hold(path):
    started.append(path)
    while not os.path.exists(path):
        time.sleep(0.005)

@expose
def spin():
    started.append("spin")
    while True:
        pass

@expose
def nap(value):
    while True: time.sleep(0.01)

@expose
def cleans_up():
    try:
        started.append("cleans_up")
        time.sleep(60)
    finally:
        cleaned.append(1)

@expose
def swallows_once():
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        time.sleep(60)

@expose
async def async_sleep():
    try:
        started.append("async")
        await asyncio.sleep(60)
    finally:
        cleaned.append("async")

@expose
def state(): return [len(started), cleaned]

@expose(concurrent=True)
def begun(): return len(started)
'''


class Interrupts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = serve_class(cls, CODE)

    def setUp(self):
        self.peer, self.asks = self.worker.connect(), self.worker.connect()
        self.begun = self.asks.call("begun")

    def running(self):
        """Waits until one more function has begun; its call is "running" a moment before that."""
        eventually(lambda: self.asks.call("begun") > self.begun, "the call to begin")
        self.begun += 1

    def failure(self, call_id, peer=None):
        with self.assertRaises(Failed) as caught:
            (peer or self.peer).answer(call_id)
        self.assertEqual((peer or self.peer).call("echo", "next"), "next")
        return caught.exception

    def test_cancel_on_the_connection(self):
        for fn, args in (("sleep", [60]), ("spin", []), ("cleans_up", []), ("async_sleep", [])):
            with self.subTest(fn):
                call_id = self.peer.start(fn, *args)
                self.running()
                self.peer.send({"t": "cancel", "id": call_id})
                self.assertEqual(self.failure(call_id).code, "cancelled")
        self.assertIn("async", self.peer.call("state")[1])

    def test_cancel_from_the_runtime(self):
        runtime = self.worker.connect(runtime=True)
        call_id = self.peer.start("sleep", 60, call_id="made-by-the-runtime")
        self.running()
        runtime.send({"t": "cancel", "id": call_id, "token": "another"})
        runtime.send({"t": "cancel", "id": "another-1"})
        self.assertEqual([c["state"] for c in runtime.calls(id=call_id)], ["running"])
        runtime.send({"t": "cancel", "id": call_id})
        self.assertEqual(self.failure(call_id).code, "cancelled")

    def test_cancel_of_another_id_does_nothing(self):
        call_id = self.peer.start("sleep", 0.2)
        self.peer.send({"t": "cancel", "id": "another"})
        self.assertEqual(self.peer.answer(call_id), 0.2)

    def test_cancel_of_a_call_that_waits(self):
        other = self.worker.connect()
        go = self.worker.folder / "go-cancelled"
        first = other.start("hold", str(go))
        self.running()
        ids = [self.peer.start("echo", 1), self.peer.start("echo", 2)]
        self.peer.send({"t": "cancel", "id": ids[1]})
        header, _ = self.peer.read()
        while header["t"] == "queued":  # of either, on a slow machine
            header, _ = self.peer.read()
        self.assertEqual((header["id"], header["error"]["code"]), (ids[1], "cancelled"))  # it does not wait for its turn to be told
        go.touch()
        self.assertEqual(self.peer.answer(ids[0]), 1)
        self.assertIsNone(other.answer(first))

    def test_a_client_that_goes_away(self):
        for fn in ("spin", "cleans_up", "async_sleep"):
            with self.subTest(fn):
                gone = self.worker.connect()
                gone.start(fn, options={"linger": 0})
                self.running()
                gone.close()
                self.assertEqual(self.peer.call("echo", 1), 1)

    def test_a_client_that_goes_away_while_it_waits_is_not_served(self):
        before = self.peer.call("state")[0]
        runtime, go = self.worker.connect(runtime=True), self.worker.folder / "go-gone"
        call_id = self.peer.start("hold", str(go))
        self.running()
        gone = self.worker.connect()
        waiting = gone.start("spin", options={"linger": 0})
        eventually(lambda: [c["state"] for c in runtime.calls(id=waiting)] == ["queued"], "the call to wait")
        gone.close()
        eventually(lambda: [c["state"] for c in runtime.calls(id=waiting)] == ["cancelled"], "the end of the call")
        go.touch()
        self.peer.answer(call_id)
        self.assertEqual(self.peer.call("state")[0], before + 1)

    def test_timeout(self):
        call_id = self.peer.start("spin", timeout=1)  # it begins a moment before the function does, and must end inside it
        failure = self.failure(call_id)
        self.assertEqual((failure.code, failure.type), ("timeout", "TimeoutError"))
        self.assertEqual(failure.message, "spin took longer than the 1 seconds that the caller allowed")
        self.assertIn("in spin", failure.traceback)
        self.assertEqual(self.failure(self.peer.start("async_sleep", timeout=0.05)).code, "timeout")

    def test_a_timeout_that_is_not_reached(self):
        for i in range(200):
            self.assertEqual(self.peer.call("echo", i, timeout=random.choice([5, 50, 500])), i)
        call_id = self.peer.start("spin", timeout=0.05)  # shorter than all that the I/O thread waits for
        self.assertEqual(self.failure(call_id).code, "timeout")

    def test_a_timeout_after_arguments_that_took_long(self):
        begun = time.monotonic()
        self.assertEqual(self.failure(self.peer.start("nap", [[1.5]] * 500_000, timeout=0.5)).code, "timeout")
        self.assertLess(time.monotonic() - begun, 50)  # it looks once a minute

    def test_an_interrupt_that_is_swallowed_comes_again(self):
        begun = time.monotonic()
        self.assertEqual(self.failure(self.peer.start("swallows_once", timeout=0.05)).code, "timeout")
        self.assertLess(time.monotonic() - begun, 50)

    def test_a_cancel_never_hits_the_next_call(self):
        """Cancels that race with the end of their call, while other calls follow at once."""
        other = self.worker.connect()
        chance = random.Random(1)
        for i in range(300):
            gone = self.worker.connect()
            gone.start("echo", i, options={"linger": 0})
            for _ in range(chance.randrange(3)):
                self.assertEqual(other.call("echo", i), i)
            gone.close()
            call_id = self.peer.start("echo", i)
            self.peer.send({"t": "cancel", "id": call_id})
            try:
                self.assertEqual(self.peer.answer(call_id), i)
            except Failed as e:
                self.assertEqual(e.code, "cancelled")
            self.assertEqual(other.call("echo", i), i)


class OfACoroutine(unittest.TestCase):
    def test_an_interrupt_comes_out_when_the_coroutine_has_ended(self):
        """Also of one that has swallowed the first cancel."""
        self.addCleanup(signal.signal, signal.SIGUSR2, signal.getsignal(signal.SIGUSR2))
        main, returned, seen = interrupts.Interrupts(), threading.Event(), []

        async def works():
            main.interrupt("call", "cancelled")
            try:
                await asyncio.sleep(LIMIT)
            except asyncio.CancelledError:
                main.interrupt("call", "cancelled")
            try:
                while not returned.is_set():
                    await asyncio.sleep(0.001)
            finally:
                seen.append(returned.is_set())

        with self.assertRaises(interrupts.Interrupted):
            main.run("call", LoopThread().run, works())
        returned.set()
        eventually(lambda: seen, "the coroutine to end")
        self.assertEqual(seen, [False])

    def test_an_async_batch_beside_others_is_cancelled(self):
        code = ("import asyncio\nstarted, ended = [], []\n@expose(batch=2, concurrent=True)\nasync def hang(values: list):\n"
                "    started.append(1)\n    try: await asyncio.Event().wait()\n    finally: ended.append(1)\n"
                "@expose(concurrent=True)\ndef state(): return [len(started), len(ended)]\n")
        with serve(code) as worker:
            peer, other = worker.connect(), worker.connect()
            call_id = peer.start("hang", 1)
            eventually(lambda: other.call("state") == [1, 0], "the batch to begin")
            peer.send({"t": "cancel", "id": call_id})
            with self.assertRaises(Failed) as caught:
                peer.answer(call_id)
            self.assertEqual((caught.exception.code, other.call("state")), ("cancelled", [1, 1]))

    def test_an_async_function_that_exits_leaves_the_loop_to_others(self):
        code = ("import sys\n@expose\nasync def leave(): sys.exit(3)\n"
                "@expose(concurrent=True)\nasync def echo(value): return value\n")
        with serve(code) as worker:
            peer, other = worker.connect(), worker.connect()
            with self.assertRaises(Failed) as caught:
                peer.call("leave")
            self.assertEqual(caught.exception.message, "leave called exit(3); the service goes on")
            self.assertEqual(other.call("echo", 1), 1)


class Life(unittest.TestCase):
    def test_stop_finishes_what_has_arrived(self):
        with serve(CODE) as worker:
            running, waiting, idle = worker.connect(), worker.connect(), worker.connect()
            idle.call("echo", 0)
            first = running.start("sleep", 0.3)
            eventually(lambda: worker.counts()[0] == 2, "the call to begin")
            second = waiting.start("echo", "second")
            worker.tell({"t": "stop"})
            self.assertEqual(running.answer(first), 0.3)
            self.assertEqual(waiting.answer(second), "second")
            self.assertEqual(worker.process.wait(120), 0)
            with self.assertRaises(OSError):  # so that its client knows that this call was not taken
                idle.start("echo", 1)

    def test_stop_while_idle_runs_exit_handlers(self):
        code = "import atexit, sys\natexit.register(lambda: print('handler ran', flush=True))\n@expose\ndef f(): pass\n"
        with serve(code) as worker:
            worker.tell({"t": "stop"})
            self.assertEqual(worker.process.wait(120), 0)
            self.assertIn("handler ran", worker.printed())

    def test_stop_does_not_wait_for_threads_of_the_user(self):
        code = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n@expose\ndef f(): pass\n"
        with serve(code) as worker:
            worker.tell({"t": "stop"})
            self.assertEqual(worker.process.wait(120), 0)

    def test_without_a_runtime_it_goes_on_for_a_while(self):
        with serve(CODE) as worker:
            peer = worker.connect()
            running = peer.start("sleep", 0.5)
            worker.leave()
            self.assertEqual(peer.answer(running), 0.5)
            hello = worker.rejoin()
            self.assertEqual((hello["state"], hello["pid"], hello["generation"]), ("ready", worker.process.pid, 1))
            self.assertEqual(hello["interface"], worker.interface)
            self.assertEqual(peer.call("echo", 1), 1)
            self.assertEqual(worker.connect().call("echo", 2), 2)

    def test_a_second_runtime_takes_the_place_of_the_first(self):
        with serve(CODE) as worker:
            peer, first = worker.connect(), worker.control
            worker.control = None
            self.assertEqual(worker.rejoin()["state"], "ready")
            with first:
                self.assertEqual(first.recv(1), b"")
            self.assertEqual(len(worker.fds), 3)  # page and pipes, as with every hello
            self.assertEqual(peer.call("echo", 1), 1)

    def test_the_next_runtime_hears_of_the_load_that_the_first_began(self):
        waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
        with Worker(waits + "@expose\ndef f(): return 1\n") as worker:
            self.assertEqual(worker.hello["state"], "new")
            eventually(lambda: worker.rejoin()["state"] == "loading", "the load to begin")
            (worker.workdir / "go").touch()
            self.assertEqual(worker.ready().connect().call("f"), 1)
        with Worker(waits + "1/0\n") as worker:
            eventually(lambda: worker.rejoin()["state"] == "loading", "the load to begin")
            (worker.workdir / "go").touch()
            self.assertEqual(worker.failure().code, "load_failed")
            self.assertEqual(worker.process.wait(120), 1)

    def test_a_worker_that_nobody_wants_ends(self):
        for call in ("", "spin"):
            with self.subTest(call), serve(CODE, orphan_seconds=2) as worker:
                if call:
                    worker.connect().start(call)
                    eventually(lambda worker=worker: worker.counts()[0] == 1, "the call to begin")
                begun = time.monotonic()
                worker.leave()
                self.assertEqual(worker.process.wait(60), 0)
                self.assertGreater(time.monotonic() - begun, 1.9)

    def test_nonsense_on_the_control_socket_closes_it_and_nothing_else(self):
        with serve(CODE) as worker:
            peer = worker.connect()
            for line in (b"{\n", b"[]\n", b'{"t":1}\n', b'{"t":"conn"}\n'):
                with self.subTest(line):
                    worker.control.sendall(line)
                    self.assertEqual(worker.control.recv(1), b"")
                    worker.rejoin()
                    self.assertEqual(peer.call("echo", 1), 1)

    def test_stop_while_it_loads(self):
        with Worker("import time\ntime.sleep(60)\n") as worker:
            eventually(lambda: worker.rejoin()["state"] == "loading", "the load to begin")
            worker.tell({"t": "stop"})
            self.assertEqual(worker.process.wait(120), 0)

    @unittest.skipUnless(sys.platform.startswith("linux"), "only Linux can tie a process to the end of a pipe")
    def test_the_end_of_the_loader_ends_it(self):
        """At once, even while a C function holds the interpreter."""
        hold = ("import re\nstarted = 0\n@expose\ndef f():\n    re.match('(a+)+$', 'a' * 60 + 'b')\n"
                "@expose\ndef g(): pass\n")
        for call in ("", "f"):
            with self.subTest(call), serve(hold) as worker:
                if call:
                    worker.connect().start(call)
                    eventually(lambda worker=worker: worker.counts()[0] == 1, "the call to begin")
                os.close(worker.life)
                self.assertEqual(worker.process.wait(120), -signal.SIGKILL)
                worker.life = os.open(os.devnull, os.O_RDONLY)


if __name__ == "__main__":
    unittest.main()
