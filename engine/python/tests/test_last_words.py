"""What counts although its client has gone, and what is told of a worker that has."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path

from harness import Failed, eventually, serve

from seer_worker.journal import Journal

PYTHON = Path(__file__).resolve().parents[1]

CODE = '''
import time
ran = []

@expose
def note(value):
    ran.append(value)
    return value

@expose
def notes(): return ran

@expose
def stream(n):
    for i in range(n):
        print("x" * 100_000)
        yield i

@expose
def sleep(seconds):
    time.sleep(seconds)
'''


class LastWords(unittest.TestCase):
    def setUp(self):
        self.worker = serve(CODE)
        self.worker.__enter__()
        self.addCleanup(self.worker.__exit__)

    @contextmanager
    def suspended(self):
        """What happens meanwhile, the worker finds all at once."""
        pid = self.worker.process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def state(self, name):
        return [c["state"] for c in self.worker.connect(runtime=True).calls(id=name)]

    def test_a_call_whose_client_has_gone_before_it_was_heard(self):
        with self.suspended():
            gone = self.worker.connect(hello="HTTP/1.1 101 Switching Protocols\r\n\r\n")
            for i in range(20):
                gone.start("note", i, call_id="gone-%05d" % i, options={"detach": True})
            gone.close()
        eventually(lambda: self.state("gone-00019") == ["done"], "the last call")
        self.assertEqual(self.worker.connect().call("notes"), list(range(20)))

    def test_a_cancel_by_who_goes_while_much_is_sent(self):
        peer = self.worker.connect()
        peer.start("stream", 10_000, call_id="much-sent", options={"output": True, "linger": 600})
        next(peer.events("much-sent"))
        with self.suspended():
            peer.send({"t": "cancel", "id": "much-sent"})
            peer.close()
        eventually(lambda: self.state("much-sent") == ["cancelled"], "the end of the call")

    def test_who_comes_back_says_what_has_arrived(self):
        peer = self.worker.connect(runtime=True)
        for name in ("arrived-1", "arrived-2"):
            peer.answer(peer.start("note", name, call_id=name))
        peer.send({"t": "attach", "id": "arrived-2", "ack": ["arrived-1"]})
        self.assertEqual(peer.answer("arrived-2"), "arrived-2")
        peer.send({"t": "attach", "id": "arrived-1"})
        with self.assertRaises(Failed) as caught:
            peer.answer("arrived-1")
        self.assertEqual(caught.exception.code, "unknown_call")

    def test_who_looks_for_others_stays_the_writer_of_its_own_segment(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = Journal(folder)
            self.addCleanup(journal.close)
            look = ("import sys; from seer_worker.journal_segments import Segments; s = Segments(sys.argv[1]); "
                    "print([s.alive(n) for n in s.list()])")
            for _ in range(2):
                said = subprocess.run([sys.executable, "-c", look, folder], cwd=PYTHON, stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(said.strip(), b"[True]")
                self.assertFalse(journal._writer.store.alive(1))

    def test_who_waited_is_told_how_the_worker_ended(self):
        peer = self.worker.connect()
        peer.start("sleep", 60, call_id="was-running")
        eventually(lambda: self.state("was-running") == ["running"], "the call to run")
        self.worker.process.kill()
        self.worker.process.wait()
        died = "was killed by signal KILL; the service was started again (try 1 of 3; its models are loaded again)"
        with serve(CODE, journal=self.worker.journal, died=died) as second:
            peer = second.connect()
            peer.send({"t": "attach", "id": "was-running"})
            with self.assertRaises(Failed) as caught:
                peer.answer("was-running")
        self.assertEqual(caught.exception.code, "interrupted")
        self.assertIn("the worker of the service was killed by signal KILL while sleep ran", caught.exception.message)
        self.assertIn("and was not repeated; the service was started again (try 1 of 3; its models", caught.exception.message)

    def test_what_waits_in_a_worker_that_is_replaced_is_not_begun_by_its_heir(self):
        first = self.worker.connect()
        first.start("sleep", 3, call_id="was-running")
        eventually(lambda: self.state("was-running") == ["running"], "the call to run")
        first.start("note", "before", call_id="waits-before")
        eventually(lambda: self.state("waits-before") == ["queued"], "the call to wait")
        self.worker.tell({"t": "leaving"})
        eventually(lambda: self.state("waits-before") == ["queued"], "the order to be heard")
        first.start("note", "after", call_id="waits-after")
        first.start("note", "detached", call_id="is-detached", options={"detach": True})
        eventually(lambda: self.state("is-detached") == ["queued"], "the last call")
        with serve(CODE, journal=self.worker.journal) as second:
            for name in ("before", "after"):
                peer = second.connect()
                peer.start("note", name, call_id="waits-" + name, options={"age": 1})
                self.assertEqual(peer.answer("waits-" + name), name)
            peer = second.connect()
            peer.send({"t": "attach", "id": "is-detached"})
            self.assertEqual(peer.answer("is-detached"), "detached")
            self.assertEqual(second.connect().call("notes"), [])
        self.assertEqual(sorted(self.worker.connect().call("notes")), ["after", "before", "detached"])


if __name__ == "__main__":
    unittest.main()
