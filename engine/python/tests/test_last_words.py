"""What counts although its client has gone, and what is told of a worker that has."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager
from pathlib import Path

from harness import NOTES, Failed, eventually, serve

from seer_worker.journal.journal import Journal

PYTHON = Path(__file__).resolve().parents[1]

CODE = NOTES + '''
import os, time

@expose
def stream(n):
    for i in range(n):
        print("x" * 100_000)
        yield i

@expose
def sleep(seconds):
    print("asleep")
    time.sleep(seconds)

@expose
def hold(path):
    while not os.path.exists(path):
        time.sleep(0.005)
'''


class Case(unittest.TestCase):
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


class LastWords(Case):
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
            look = ("import sys; from seer_worker.journal.segments import Segments; s = Segments(sys.argv[1]); "
                    "print([s.alive(n) for n in s.list()])")
            for _ in range(2):
                said = subprocess.run([sys.executable, "-c", look, folder], cwd=PYTHON, stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(said.strip(), b"[True]")
                self.assertFalse(journal._writer.store.alive(1))

    def test_who_waited_is_told_how_the_worker_ended(self):
        peer = self.worker.connect()
        peer.start("sleep", 60, call_id="was-running", options={"output": True})
        next(peer.events("was-running"))  # it is "running" a moment before the journal has it, and before its function runs
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


class Replaced(Case):
    """A worker that is being replaced, and the one that takes its place."""

    def leave(self):
        """Tells it that another one comes, and waits until it has heard that."""
        self.worker.tell({"t": "leaving"})
        self.worker.connect(runtime=True).calls()

    def busy(self):
        """Until self.go is there."""
        self.first, self.go = self.worker.connect(), self.worker.folder / "go"
        self.first.start("hold", str(self.go), call_id="was-running")
        eventually(lambda: self.state("was-running") == ["running"], "the call to run")

    def test_what_waits_is_not_begun_by_the_heir(self):
        self.busy()
        self.first.start("note", "before", call_id="waits-before")
        self.first.start("note", "detached", call_id="is-detached", options={"detach": True})
        eventually(lambda: self.state("is-detached") == ["queued"], "the last call")
        self.leave()
        with serve(CODE, journal=self.worker.journal) as second:
            peer = second.connect()
            peer.start("note", "before", call_id="waits-before", options={"age": 1})
            peer.calls()  # the heir has heard that, while the call of the first worker runs
            self.go.touch()
            self.assertEqual(peer.answer("waits-before"), "before")
            peer.send({"t": "attach", "id": "is-detached"})
            self.assertEqual(peer.answer("is-detached"), "detached")
            self.assertEqual(second.connect().call("notes"), [])
        self.worker.tell({"t": "staying"})
        self.assertEqual(sorted(self.worker.connect().call("notes")), ["before", "detached"])

    def test_what_was_said_before_it_leaves_counts(self):
        """Whether the worker has read it by then or not."""
        with self.suspended():
            gone = self.worker.connect(hello="HTTP/1.1 101 Switching Protocols\r\n\r\n")
            gone.start("sleep", 2, call_id="gone-00001", options={"linger": 60})
            gone.start("note", 1, call_id="gone-00002", options={"linger": 60})
            gone.close()
            self.worker.tell({"t": "leaving"})
        self.worker.connect(runtime=True).calls()
        with serve(CODE, journal=self.worker.journal) as second:
            peer = second.connect()
            peer.start("note", 1, call_id="gone-00002", options={"age": 1})
            self.assertEqual(peer.answer("gone-00002"), 1)
            self.assertEqual(second.connect().call("notes"), [])

    def test_it_takes_no_more_calls(self):
        """The one that takes its place may have them."""
        open = self.worker.connect()
        carried = self.worker.connect(runtime=True)
        self.assertEqual(open.call("note", 1), 1)
        self.leave()
        with self.assertRaises(OSError):
            open.start("note", 2, call_id="comes-late")
        with self.assertRaises((EOFError, OSError)):
            self.worker.connect().call("note", 3)
        for _ in range(2):  # its name is not taken by that
            carried.start("note", 4, call_id="late-carried")
            with self.assertRaises(Failed) as caught:
                carried.answer("late-carried")
            self.assertEqual((caught.exception.code, caught.exception.type), ("busy", "leaving"))
        self.worker.tell({"t": "staying"})
        self.assertEqual(self.worker.connect().call("note", 5), 5)
        self.assertEqual(carried.answer(carried.start("note", 4, call_id="late-carried")), 4)
        self.assertEqual(self.worker.connect().call("notes"), [1, 5, 4])

    def test_a_detached_call_that_waits_when_it_dies_is_queued_again(self):
        self.busy()
        for name in ("is-detached", "not-asked-for"):
            self.first.start("note", name, call_id=name, options={"detach": True})
        self.first.start("note", "attached", call_id="is-attached")
        eventually(lambda: self.state("is-attached") == ["queued"], "the last call")
        self.leave()
        with serve(CODE, journal=self.worker.journal) as second:
            peer = second.connect()
            peer.send({"t": "attach", "id": "is-detached"})
            other = second.connect()
            other.start("note", "attached", call_id="is-attached", options={"age": 1})
            self.assertEqual(second.connect().call("notes"), [])
            self.worker.process.kill()
            self.worker.process.wait()
            self.assertEqual(peer.answer("is-detached"), "is-detached")
            with self.assertRaises(Failed) as caught:
                other.answer("is-attached")
            self.assertEqual(caught.exception.code, "interrupted")
            peer.send({"t": "attach", "id": "not-asked-for"})
            self.assertEqual(peer.answer("not-asked-for"), "not-asked-for")
            self.assertEqual(sorted(second.connect().call("notes")), ["is-detached", "not-asked-for"])

    def test_a_call_that_waited_when_it_died_may_be_sent_again(self):
        self.busy()
        self.first.start("note", 1, call_id="is-attached")
        eventually(lambda: self.state("is-attached") == ["queued"], "the last call")
        self.leave()
        self.worker.process.kill()
        self.worker.process.wait()
        with serve(CODE, journal=self.worker.journal) as second:
            peer = second.connect()
            peer.start("note", 1, call_id="is-attached", options={"age": 0.001})
            self.assertEqual(peer.answer("is-attached"), 1)


if __name__ == "__main__":
    unittest.main()
