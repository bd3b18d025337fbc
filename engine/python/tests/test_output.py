"""What a call prints: all of it, in order, live, without secrets, and only its own."""

import asyncio
import contextlib
import io
import os
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, List, Tuple
from unittest.mock import Mock, patch

from seer_worker.calls.calls import ENDED, Call
from seer_worker.calls.delivery import Delivery
from seer_worker.calls.scheduler import Scheduler
from seer_worker.execution.output import Output
from seer_worker.execution.streams import Streams
from seer_worker.journal.journal import Journal
from seer_worker.process import context
from seer_worker.process.context import Scope

TOP = Path(__file__).resolve().parent.parent
SECRET = "hunter2-hunter3"


class Prints(unittest.TestCase):
    def setUp(self) -> None:
        self.log, before = io.BytesIO(), (sys.stdout, sys.stderr)
        sys.stdout = io.TextIOWrapper(self.log, "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(self.log, "utf-8", write_through=True)
        self.output = Output(lambda text: text.replace(SECRET, "[secret PASSWORD]"), [SECRET])
        self.output.install()

        def restore() -> None:
            self.output.restore()
            sys.stdout, sys.stderr = before

        self.addCleanup(restore)

    def call(self, function: Callable[[], Any], wait: float = 0.0) -> List[Tuple[int, str]]:
        """What the sink is given while the function runs."""
        given: List[Tuple[int, str]] = []
        scope = Scope("call-1")
        token = context.enter(scope)
        self.output.begin(scope, lambda stream, text: given.append((stream, text)))
        try:
            function()
        finally:
            self.output.end(scope)
            context.leave(token)
        return given

    def text(self, function: Callable[[], Any], stream: int = 1) -> str:
        return "".join(text for s, text in self.call(function) if s == stream)

    def test_both_streams_in_order(self) -> None:
        def run() -> None:
            print("one")
            print("two", file=sys.stderr)
            sys.stdout.writelines(["th", "ree\n"])
            sys.stdout.flush()

        pieces: List[Tuple[int, str]] = []
        for stream, text in self.call(run):  # a line may come in two, between which time has passed
            if pieces and pieces[-1][0] == stream:
                text = pieces.pop()[1] + text
            pieces.append((stream, text))
        self.assertEqual(pieces, [(1, "one\n"), (2, "two\n"), (1, "three\n")])
        print("after")
        self.assertEqual(self.log.getvalue(), b"one\ntwo\nthree\nafter\n")

    def test_live(self) -> None:
        seen = threading.Event()
        scope = Scope("call-1")
        token = context.enter(scope)
        self.output.begin(scope, lambda stream, text: seen.set())
        print("live")
        self.assertTrue(seen.wait(120))  # while the call goes on
        self.output.end(scope)
        context.leave(token)

    def test_whose_it_is(self) -> None:
        """Threads, pools that are older than the call, tasks and calls side by side."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(print, "nobody's").result()

            def run() -> None:
                thread = threading.Thread(target=print, args=("by a thread",))
                thread.start()
                thread.join()
                pool.submit(print, "by a pool").result()

                async def task() -> None:
                    print("by a task")
                    await asyncio.get_running_loop().run_in_executor(None, print, "by its executor")

                async def main() -> None:
                    await asyncio.gather(asyncio.create_task(task()))

                asyncio.run(main())

            self.assertEqual(self.text(run), "by a thread\nby a pool\nby a task\nby its executor\n")
            pool.submit(print, "nobody's again").result()
        self.assertEqual(self.log.getvalue().count(b"nobody's"), 2)
        texts = {}

        def side_by_side(number: int) -> None:
            texts[number] = self.text(lambda: [print(number) or time.sleep(0.001) for _ in range(50)])

        threads = [threading.Thread(target=side_by_side, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, {n: "%d\n" % n * 50 for n in range(4)})

    def test_what_outlives_its_call(self) -> None:
        go, given = threading.Event(), []

        def late() -> None:
            go.wait()
            print("late")

        thread = threading.Thread(target=late)
        given += self.call(thread.start)
        given += self.call(lambda: (go.set(), thread.join(), print("own")))
        self.assertEqual(given, [(1, "own\n")])
        self.assertIn(b"late\n", self.log.getvalue())

    def test_many_small_ones_are_few_events(self) -> None:
        given = self.call(lambda: [print(n) for n in range(20_000)])
        self.assertEqual("".join(text for _, text in given), "".join("%d\n" % n for n in range(20_000)))
        self.assertLess(len(given), 2000)

    def test_much_text(self) -> None:
        line = "x" * 99 + "\n"
        self.assertEqual(len(self.text(lambda: [sys.stdout.write(line * 100) for _ in range(200)])), 2_000_000)

    def test_progress_bars(self) -> None:
        """Of states that come faster than anybody looks, the last one."""
        text = self.text(lambda: [sys.stderr.write("\r%d%%" % n) for n in range(1001)], 2)
        self.assertEqual(text[-6:], "\r1000%")
        self.assertLess(len(text), 2000)
        self.assertEqual(self.text(lambda: sys.stdout.write("a\r\nb\r\n")), "a\r\nb\r\n")
        self.assertEqual(self.text(lambda: sys.stdout.write("start\r1\r2\r3\nnext\r")), "start\r3\nnext\r")

    def test_secrets(self) -> None:
        def slowly() -> None:
            for letter in "<" + SECRET + ">":
                sys.stdout.write(letter)
                time.sleep(0.03)  # longer than text is gathered

        self.assertEqual(self.text(lambda: print("the password", SECRET)), "the password [secret PASSWORD]\n")
        self.assertEqual(self.text(slowly), "<[secret PASSWORD]>")
        self.assertEqual(self.text(lambda: print(SECRET[:5], end="")), SECRET[:5])  # not one after all

    def test_streams_as_ever(self) -> None:
        self.assertEqual(self.text(lambda: (sys.stdout.buffer.write("bytes é\n".encode()[:7]), sys.stdout.buffer.write("é\n".encode()[1:]),
                                            sys.stdout.buffer.flush())), "bytes é\n")
        self.assertEqual((sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.writable()), ("utf-8", False, True))
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        self.assertEqual(self.text(lambda: print("\ud800")), "?\n")
        with self.assertRaises(TypeError):
            self.call(lambda: sys.stdout.write(b"bytes"))  # type: ignore[arg-type]
        kept = io.StringIO()

        def redirected() -> None:
            with contextlib.redirect_stdout(kept):
                print("elsewhere")
            print("here")

        self.assertEqual(self.text(redirected), "here\n")
        self.assertEqual(kept.getvalue(), "elsewhere\n")

    def test_a_sink_that_fails_or_prints(self) -> None:
        scope = Scope("call-1")
        token = context.enter(scope)

        def sink(stream: int, text: str) -> None:
            print("from the sink")
            raise ConnectionError("gone")

        self.output.begin(scope, sink)
        print("one")
        deadline = time.monotonic() + 20
        while b"from the sink" not in self.log.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        scope.capture._sink = lambda *event: None
        self.output.end(scope)
        context.leave(token)
        self.assertEqual(self.text(lambda: print("two")), "two\n")

    def test_a_child_process_has_no_followers(self) -> None:
        def run() -> None:
            pid = os.fork()
            if pid == 0:
                try:
                    print("x" * 200_000)
                finally:
                    os._exit(0)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            print("parent")

        self.assertEqual(self.text(run), "parent\n")


class Events(unittest.TestCase):
    def test_a_call_that_leaves_its_batch_while_it_prints(self) -> None:
        """Its answer is its last event, with a number of its own."""
        journal, delivery, table = Journal(None), Delivery(Mock(), Mock()), Mock()
        scheduler = Scheduler(threading.Lock(), Mock(), journal, table, delivery)
        call = Call({"t": "call", "id": "call-0001", "fn": "f"}, b"", "main", "")
        scheduler.begin(call)
        journal.started(call.id, call.fn, call.token, call.client)

        def leave() -> None:
            with scheduler.lock:
                scheduler.leave_run(call, "cancelled")

        def written(*event: Any) -> bytes:
            if not scheduler.lock.locked():  # then another thread may answer the call in this moment
                leave()
            return output(*event)

        output, streams = journal.output, Streams(scheduler, journal, delivery, table, Mock())
        with patch.object(journal, "output", written):
            streams.printed([call], 1, "one")
        if call.state != ENDED:
            leave()
        streams.printed([call], 1, "of the others")
        self.assertEqual([(e.n, e.kind) for e in journal.events(call.id)], [(1, "output"), (2, "error")])


class Process(unittest.TestCase):
    def test_the_log_of_a_whole_process(self) -> None:
        code = ("import sys; from seer_worker.execution.output import Output; Output().install()\n"
                "print('out', sys.stdout.fileno(), sys.stderr.fileno()); print('err', file=sys.stderr)\n"
                "sys.stdout.buffer.write(b'bytes\\n')\n"
                "sys.stdout.write('no end of line'); import threading; threading.Thread(target=print, args=('',)).start()\n")
        ran = subprocess.run([sys.executable, "-u", "-c", code], cwd=TOP, capture_output=True, check=True)
        self.assertEqual((ran.stdout, ran.stderr), (b"out 1 2\nbytes\nno end of line\n", b"err\n"))


if __name__ == "__main__":
    unittest.main()
