"""The journal of calls: what is there again after any end, what is forgotten, and when nothing can be written."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple
from unittest import mock

from seer_worker.journal.journal import Entry, Journal, JournalFull
from seer_worker.journal.scan import PREFIX

TOP = Path(__file__).resolve().parent.parent


def records(path: Path) -> "List[Tuple[Dict[str, Any], bytes]]":
    """The frames of a file, read in the plainest way."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        head, body = PREFIX.unpack_from(data, at)
        found.append((json.loads(data[at + 12:at + 12 + head]), data[at + 12 + head:at + 12 + head + body]))
        at += 12 + head + body
    return found


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "journal"
        self.journals: List[Journal] = []
        self.addCleanup(lambda: [j.close() for j in self.journals])

    def open(self, **options: Any) -> Journal:
        journal = Journal(str(self.folder), **options)
        self.journals.append(journal)
        return journal

    def again(self, **options: Any) -> Journal:
        """As if the worker had been killed: within one process its lock holds nobody up."""
        for journal in self.journals:
            journal.sweep()
        return self.open(**options)

    def run_one(self, journal: Journal, id: str, body: Any = b"1", **options: Any) -> None:
        journal.started(id, "f", "main", "client")
        journal.result(id, 1, body, **options)

    def find(self, journal: Journal, id: str) -> Entry:
        entry = journal.find(id)
        assert entry is not None, id
        return entry

    def segments(self) -> List[int]:
        return sorted(int(p.stem) for p in self.folder.glob("*.seg"))


class Answers(Case):
    def test_events_are_there_again(self) -> None:
        journal = self.open()
        journal.started("call-1", "f", "main", "client")
        headers = [journal.output("call-1", 1, 2, "half a \ud800 pair\n"), journal.item("call-1", 2, [b"ab", memoryview(b"cd")], True),
                   journal.result("call-1", 3, b"42", seconds=0.25)]
        for one in (journal, self.again()):
            events = list(one.events("call-1"))
            self.assertEqual([(e.n, e.kind, bytes(e.body), e.missing) for e in events],
                             [(1, "output", b"half a ? pair\n", False), (2, "item", b"abcd", False), (3, "result", b"42", False)])
            self.assertEqual([e.header for e in events], headers)
            self.assertEqual([e.n for e in one.events("call-1", 3)], [3])
            call = self.find(one, "call-1").call()
            self.assertEqual((call["state"], call["function"], call["token"], call["client"], call["seconds"], call["bytes"]),
                             ("done", "f", "main", "client", 0.25, 20))
        self.assertEqual(json.loads(headers[1])["tagged"], True)
        self.assertEqual(json.loads(headers[0])["stream"], 2)

    def test_errors_and_their_states(self) -> None:
        journal = self.open()
        for code in ("raised", "cancelled", "interrupted", "timeout"):
            journal.started("call-" + code, "f", "main", "")
            journal.error("call-" + code, 1, {"code": code, "message": "what \"it\" was: é", "traceback": "…"}, 1.5)
        for one in (journal, self.again()):
            self.assertEqual([e.state for e in one.calls()], ["failed", "cancelled", "interrupted", "failed"])
            event = next(one.events("call-raised"))
            self.assertEqual(json.loads(event.header)["error"]["traceback"], "…")
            self.assertEqual(self.find(one, "call-raised").error, {"code": "raised", "message": "what \"it\" was: é"})

    def test_acknowledged(self) -> None:
        journal = self.open()
        self.run_one(journal, "call-1")
        journal.acked("call-1")
        journal.acked("call-unknown")
        journal.started("call-2", "f", "main", "")
        journal.acked("call-2")  # it runs: there is nothing to acknowledge
        for one in (journal, self.again()):
            entry = self.find(one, "call-1")
            self.assertEqual((entry.state, entry.acked, entry.answered, list(one.events("call-1"))), ("done", True, False, []))

    def test_a_large_body_is_not_copied(self) -> None:
        body = os.urandom(3 << 20)
        journal = self.open()
        self.run_one(journal, "call-1", [body[:1 << 20], b"", memoryview(body)[1 << 20:]])
        event = next(self.again().events("call-1"))
        self.assertEqual(type(event.body), memoryview)
        self.assertEqual(bytes(event.body), body)

    def test_more_buffers_than_one_write_takes(self) -> None:
        parts = [bytes([n % 256]) * (n % 300) for n in range(5000)]
        journal = self.open()
        self.run_one(journal, "call-1", parts)
        self.assertEqual(bytes(next(self.again().events("call-1")).body), b"".join(parts))

    def test_a_huge_result_is_in_memory_only(self) -> None:
        body = bytearray(17 << 20)
        journal = self.open()
        self.run_one(journal, "call-1", [body])
        self.assertLess(sum(p.stat().st_size for p in self.folder.iterdir()), 10_000)
        self.assertIs(next(journal.events("call-1")).body[0], body)
        journal.keep("call-1", 1, bytes(body))
        body[0] = 1
        self.assertEqual(next(journal.events("call-1")).body[0], 0)
        after = self.again()
        self.assertTrue(next(after.events("call-1")).missing)
        self.assertEqual(self.find(after, "call-1").state, "done")

    def test_without_a_folder(self) -> None:
        journal = Journal(None)
        self.run_one(journal, "call-1", b"body")
        self.assertEqual(next(journal.events("call-1")).body, b"body")
        journal.acked("call-1")
        self.assertEqual(list(journal.events("call-1")), [])


class AfterADeath(Case):
    def test_running_ones_are_interrupted(self) -> None:
        journal = self.open()
        journal.started("call-1", "f", "main", "")
        journal.item("call-1", 1, b"[1]")
        for _ in range(2):  # and stay so
            after = self.again()
            entry = self.find(after, "call-1")
            self.assertEqual((entry.state, entry.error and entry.error["code"]), ("interrupted", "interrupted"))
            self.assertEqual([(e.n, e.kind) for e in after.events("call-1")], [(1, "item"), (2, "error")])

    def test_detached_ones_that_were_queued_come_again(self) -> None:
        journal = self.open()
        options = {"detach": True, "timeout": 5, "client": "other"}
        for id in ("call-1", "call-2", "call-3", "call-4"):
            journal.queued(id, "f", "main", "c", options, b'{"args":[1]}')
        journal.started("call-2", "f", "main", "c")
        journal.error("call-3", 1, {"code": "cancelled", "message": ""})
        for _ in range(2):  # as long as they have not begun
            journal = self.again()
            self.assertEqual([(a.id, a.fn, a.token, a.client, a.body) for a in journal.again],
                             [(n, "f", "main", "c", b'{"args":[1]}') for n in ("call-1", "call-4")])
            self.assertEqual((journal.again[0].options["timeout"], journal.again[0].options["detach"]), (5, True))
            self.assertTrue(self.find(journal, "call-1").detached)
        for id in ("call-1", "call-4"):
            self.run_one(journal, id)
        after = self.again()
        self.assertEqual(after.again, [])
        self.assertEqual([self.find(after, "call-%d" % n).state for n in (1, 2, 3, 4)], ["done", "interrupted", "cancelled", "done"])

    def test_one_that_is_detached_while_it_waits_comes_again(self) -> None:
        journal = self.open()
        journal.queued("call-1", "f", "main", "c", {}, b'{"args":[1]}')  # of a record, or of a worker that leaves
        journal.queued("call-1", "f", "main", "c", {"detach": True}, b'{"args":[1]}')
        journal.started("call-2", "f", "main", "c")
        journal.queued("call-2", "f", "main", "c", {"detach": True}, b"")
        for _ in range(2):
            journal = self.again()
            self.assertEqual([(a.id, a.body) for a in journal.again], [("call-1", b'{"args":[1]}')])
            self.assertEqual(self.find(journal, "call-2").state, "interrupted")

    def test_a_write_that_was_cut_anywhere(self) -> None:
        """Whatever the last bytes are: what was written before counts, and the journal goes on."""
        journal = self.open()
        self.run_one(journal, "call-1", b"first")
        whole = self.folder / "00000001.seg"
        size = whole.stat().st_size
        journal.started("call-2", "f", "main", "")
        begun = whole.stat().st_size
        journal.result("call-2", 1, b"second")
        journal.close()
        data = whole.read_bytes()
        for cut in range(size, len(data) + 1):
            for path in self.folder.iterdir():
                path.unlink()
            whole.write_bytes(data[:cut])
            after = self.open()
            self.assertEqual(next(after.events("call-1")).body, b"first")
            state = None if cut < begun else "interrupted" if cut < len(data) else "done"
            self.assertEqual(getattr(after.find("call-2"), "state", None), state, cut)
            self.run_one(after, "call-3")
            self.assertEqual(self.find(self.again(), "call-3").state, "done")

    def test_any_damage(self) -> None:
        """Bytes of any kind never hinder a worker from beginning."""
        chance = random.Random(7)
        journal = self.open()
        for n in range(5):
            self.run_one(journal, "call-%d" % n)
            journal.queued("call-q%d" % n, "f", "main", "c", {"detach": True}, b"{}")
        journal.close()
        data = (self.folder / "00000001.seg").read_bytes()
        for _ in range(300):
            for path in self.folder.iterdir():
                path.unlink()
            broken = bytearray(data)
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(broken))
                if chance.random() < 0.3:
                    del broken[at:at + chance.randrange(20)]
                else:
                    broken[at] = chance.choice((0, 32, 255, chance.randrange(256)))
            (self.folder / "00000001.seg").write_bytes(broken)
            after = self.open()
            for entry in after.calls():
                list(after.events(entry.id))
            self.run_one(after, "call-new")
            after.close()
            self.assertEqual(self.find(self.open(), "call-new").state, "done")

    def test_records_of_another_kind_of_worker(self) -> None:
        self.folder.mkdir()
        odd = [{"t": "begin", "known": [["call-a"], 1, ["call-b", "done", "x", 2]], "use": {"t": 1}}, {"t": "started"},
               {"t": "future", "id": "call-1"}, {"t": "result", "id": "call-1"}, {"t": "started", "id": 1, "fn": 2, "token": 3},
               {"t": "error", "id": "call-1", "error": "no"}, {"t": "begin", "known": 5},
               {"t": "queued", "id": "call-1", "fn": "f", "token": None}]
        frames = [json.dumps(o).encode() for o in odd]
        (self.folder / "00000001.seg").write_bytes(b"".join(PREFIX.pack(len(f), 0) + f for f in frames))
        self.run_one(self.open(), "call-9")
        self.assertEqual(self.find(self.again(), "call-9").state, "done")

    def test_a_killed_process(self) -> None:
        """A real worker, killed at any moment: each call that it has told us to have begun or ended is known."""
        code = ("import sys; from seer_worker.journal.journal import Journal; j = Journal(sys.argv[1], segment=1000000)\n"
                "n = int(sys.argv[2])\n"
                "while True:\n"
                "    n += 1; id = 'call-%d' % n; j.started(id, 'f', 'main', 'c'); print('s', n, flush=True)\n"
                "    j.result(id, 1, b'%d' % n * 50); print('r', n, flush=True)\n")
        begun, ended = set(), set()
        for round in range(8):
            argv = [sys.executable, "-c", code, str(self.folder), str(round * 100_000)]
            process = subprocess.Popen(argv, cwd=TOP, stdout=subprocess.PIPE)
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(20 + 37 * round)]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().splitlines(True)
            process.wait()
            process.stdout.close()
            for line in lines:
                if line.endswith(b"\n"):
                    what, n = line.split()
                    (begun if what == b"s" else ended).add(int(n))
        journal = self.open()
        for n in begun:
            entry = self.find(journal, "call-%d" % n)
            self.assertIn(entry.state, ("done",) if n in ended else ("done", "interrupted"))
            if entry.state == "done":
                self.assertEqual(next(journal.events(entry.id)).body, b"%d" % n * 50)

    def test_a_worker_that_still_ends_its_calls(self) -> None:
        """The one that is being replaced goes on, in the same folder; what it runs is not taken for interrupted."""
        code = ("import sys; from seer_worker.journal.journal import Journal; j = Journal(sys.argv[1], segment=3000)\n"
                "j.started('call-1', 'f', 'main', 'c'); j.started('call-2', 'f', 'main', 'c')\n"
                "print('begun', flush=True); sys.stdin.readline()\n"
                "for n in range(50): j.item('call-1', n + 1, b'x' * 100)\n"
                "j.result('call-1', 51, b'late'); j.started('call-3', 'f', 'main', 'c')\n"
                "print('ended', flush=True); sys.stdin.readline()\n")
        process = subprocess.Popen([sys.executable, "-c", code, str(self.folder)], cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        process.stdout.readline()
        journal = self.open()
        self.run_one(journal, "call-9")
        self.assertEqual([(e.state, e.elsewhere) for e in map(journal.find, ("call-1", "call-2"))], [("running", True)] * 2)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        self.assertEqual(self.find(journal, "call-1").state, "done")
        self.assertEqual([bytes(e.body) for e in journal.events("call-1", 50)], [b"x" * 100, b"late"])
        self.assertTrue(self.find(journal, "call-3").elsewhere)
        process.stdin.close()
        process.wait()
        self.assertEqual([self.find(journal, "call-%d" % n).state for n in (2, 3, 9)], ["interrupted", "interrupted", "done"])
        self.assertEqual(self.find(self.again(), "call-1").state, "done")

    def other(self, code: str) -> "subprocess.Popen[bytes]":
        """Another worker of this folder; step makes it go on."""
        code = ("import sys; from seer_worker.journal.journal import Journal; j = Journal(sys.argv[1], segment=3000)\n"
                "def wait(): print('there', flush=True); sys.stdin.readline()\n" + code + "wait()\n")
        process = subprocess.Popen([sys.executable, "-c", code, str(self.folder)], cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        process.stdout.readline()
        return process

    def step(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()

    def test_names_of_three_generations(self) -> None:
        """What the first one did after the second had begun is known to the third, although the second needs nothing of it."""
        first = self.other("wait()\nj.started('call-1', 'f', 'main', 'c'); j.started('call-2', 'f', 'main', 'c')\n"
                           "j.result('call-2', 1, b'2'); j.acked('call-2'); j.sweep()\n")
        second = self.other("wait()\nj.find('call-1'); j.acked('call-1'); j.sweep()\n")
        self.step(first)
        first.kill()
        first.wait()
        self.step(second)
        self.assertFalse((self.folder / "00000001.seg").exists())
        second.kill()
        second.wait()
        journal = self.open()
        self.assertEqual([self.find(journal, "call-%d" % n).state for n in (1, 2)], ["interrupted", "done"])

    def test_what_waits_is_known_when_its_segment_has_gone(self) -> None:
        process = self.other("j.queued('call-1', 'f', 'main', 'c', {}, b'')\n"
                             "for id in ('other-%d' % n for n in range(50)):\n"
                             "    j.started(id, 'f', 'main', 'c'); j.result(id, 1, b'x' * 100); j.acked(id)\n"
                             "wait()\nj.started('call-1', 'f', 'main', 'c')\n")
        self.assertFalse((self.folder / "00000001.seg").exists())
        journal = self.open()
        entry = self.find(journal, "call-1")
        self.assertEqual((entry.state, entry.elsewhere), ("queued", True))
        self.step(process)
        entry = self.find(journal, "call-1")
        self.assertEqual((entry.state, entry.elsewhere, entry.fn), ("running", True, "f"))
        process.kill()
        process.wait()
        self.assertEqual(self.find(journal, "call-1").state, "interrupted")

    def test_a_child_process_writes_nothing(self) -> None:
        journal = self.open()
        journal.started("call-1", "f", "main", "")
        before = (self.folder / "00000001.seg").read_bytes()
        pid = os.fork()
        if pid == 0:
            journal.result("call-1", 1, b"from the child")
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual((self.folder / "00000001.seg").read_bytes(), before)
        journal.result("call-1", 1, b"own")
        self.assertEqual(next(self.again().events("call-1")).body, b"own")


class Segments(Case):
    def test_they_are_exchanged_and_deleted(self) -> None:
        models = [{"name": "m", "revision": "r"}, {"name": "h", "hidden": True}]
        datasets = [{"name": "d", "revision": "s", "path": "/datasets/d"}]
        journal = self.open(segment=4000, generation=3, code_hash="sha256:c", models=models, datasets=datasets)
        self.run_one(journal, "call-kept", b"kept")
        for n in range(50):
            self.run_one(journal, "call-%d" % n, b"x" * 500)
            journal.acked("call-%d" % n)
        found = self.segments()
        self.assertEqual(found[0], 1)  # in which an answer is that nobody has acknowledged
        self.assertLess(len(found), 5)
        begin = records(self.folder / ("%08d.seg" % found[-1]))[0][0]
        self.assertEqual((begin["t"], begin["segment"], begin["generation"], begin["code_hash"], begin["models"]),
                         ("begin", found[-1], 3, "sha256:c", [{"name": "m", "revision": "r"}, {}]))
        self.assertEqual(begin["datasets"], [{"name": "d", "revision": "s"}])
        after = self.again(segment=4000)
        self.assertEqual(next(after.events("call-kept")).body, b"kept")
        for n in range(49):
            self.assertEqual(self.find(after, "call-%d" % n).state, "done")
        after.acked("call-kept")
        self.assertNotIn(1, self.segments())
        self.assertTrue(self.find(self.again(), "call-kept").acked)

    def test_many_names(self) -> None:
        """More than the header of one record can have."""
        journal = self.open(segment=1 << 20)
        ids = ["call-%s-%d" % ("x" * 80, n) for n in range(12_000)]
        for id in ids:
            self.run_one(journal, id)
            journal.acked(id)
        after = self.again()
        self.assertEqual(self.segments()[0], self.segments()[-1])
        self.assertTrue(all(self.find(after, id).state == "done" for id in ids))

    def test_a_record_waits_for_its_recorder(self) -> None:
        journal = self.open(segment=4000, record=True, undrained=30_000)
        journal.queued("call-args", "f", "main", "c", {"tagged": True}, b"[]")
        for n in range(20):
            self.run_one(journal, "call-%d" % n, b"x" * 900)
            journal.acked("call-%d" % n)
        found = self.segments()
        self.assertEqual(found, list(range(1, len(found) + 1)))
        journal.drained(2)
        self.assertEqual(self.segments(), found[2:])
        with self.assertRaises(JournalFull) as caught:
            for n in range(100, 200):
                self.run_one(journal, "call-%d" % n, b"x" * 900)
        self.assertIn("nobody takes it", str(caught.exception))
        journal.drained(self.segments()[-2])
        self.run_one(journal, "call-after")
        huge = bytearray(17 << 20)
        self.run_one(journal, "call-huge", [huge])  # a record has it all
        self.assertEqual(bytes(next(self.again(record=True).events("call-huge")).body), bytes(huge))


class Memory(Case):
    def test_answers_go_after_a_while_and_names_later(self) -> None:
        journal = self.open(limits={"keep_seconds": 0.3})
        self.run_one(journal, "call-1")
        time.sleep(0.35)
        journal.sweep()
        entry = self.find(journal, "call-1")
        self.assertFalse(entry.answered)
        self.assertTrue(journal.reaches(0.1))
        time.sleep(0.35)
        journal.sweep()
        self.assertIsNone(journal.find("call-1"))
        self.assertFalse(journal.reaches(0.3))  # now nobody can say whether it was there

    def test_the_oldest_go_first(self) -> None:
        journal = self.open(limits={"keep_calls": 10})
        for n in range(15):
            self.run_one(journal, "call-%d" % n)
        self.assertEqual([n for n in range(15) if self.find(journal, "call-%d" % n).answered], list(range(5, 15)))
        journal = self.again(limits={"keep_bytes": 3000})
        for n in range(20, 25):
            self.run_one(journal, "call-%d" % n, b"x" * 1000)
        self.assertEqual([n for n in range(20, 25) if self.find(journal, "call-%d" % n).answered], [22, 23, 24])
        self.run_one(journal, "call-huge", b"x" * 9000)
        self.assertTrue(self.find(journal, "call-huge").answered)  # the last one has to reach its caller

    def test_names_are_bounded(self) -> None:
        journal = self.open(limits={"keep_calls": 50})
        for n in range(500):
            self.run_one(journal, "call-%d" % n)
            journal.acked("call-%d" % n)
        self.assertLess(len(journal.calls()), 110)
        self.assertTrue(journal.reaches(0))  # who has acknowledged does not ask again
        for n in range(500, 700):
            self.run_one(journal, "call-%d" % n)
        self.assertFalse(journal.reaches(0))

    def test_how_far_it_reaches(self) -> None:
        began = time.time()
        journal = self.open()
        self.assertFalse(journal.reaches(60))
        self.assertTrue(journal.reaches(0))
        time.sleep(0.2)
        after = self.again()
        self.assertTrue(after.reaches(0.1))
        self.assertFalse(after.reaches(time.time() - began + 1))
        after.close()
        for path in self.folder.iterdir():
            path.write_bytes(b"nothing that can be read")
        self.assertFalse(self.open().reaches(60))

    def test_use_of_tokens(self) -> None:
        use = {"t": {"calls": 10, "seconds": 5.0, "spend_usd": 0.5, "refused": 2, "last_unix": 1.0}}
        journal = self.open()
        journal.use = lambda: use
        journal._writer.rotate()
        journal.started("call-1", "f", "t", "")
        journal.result("call-1", 1, b"", seconds=2.0)
        journal.refused("call-2", "f", "t", "it may not")
        journal.started("call-3", "f", "u", "")
        time.sleep(0.05)
        journal.refused("call-4", "f", "u", "neither")
        after = self.again()
        t, u = after.read_use["t"], after.read_use["u"]
        self.assertEqual((t["calls"], t["seconds"], t["unpriced"], t["spend_usd"], t["refused"]), (11, 7.0, 2.0, 0.5, 3))
        self.assertEqual((u["calls"], u["refused"]), (1, 1))
        self.assertGreater(u["seconds"], 0.04)  # it ran until its worker died, as far as anybody knows
        self.assertIsNone(after.find("call-2"))  # a refused call did not run, and may

    def test_forget(self) -> None:
        journal = self.open()
        journal.queued("call-1", "f", "main", "", {"detach": True}, b"{}")
        journal.forget("call-1")
        self.assertIsNone(journal.find("call-1"))
        self.run_one(journal, "call-1")
        self.assertEqual(self.find(self.again(), "call-1").state, "done")


class FullDisk(Case):
    def test_nothing_begins_and_no_answer_is_lost(self) -> None:
        pid = os.fork()
        if pid == 0:  # the limit is for a whole process, and for good
            code = 1
            try:
                self.with_full_disk()
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        journal = self.open()
        self.assertEqual({e.id: e.state for e in journal.calls()}, {"call-1": "done", "call-2": "interrupted", "call-4": "done"})

    def with_full_disk(self) -> None:
        journal = Journal(str(self.folder))
        self.run_one(journal, "call-1")
        journal.started("call-2", "f", "main", "")
        size = (self.folder / "00000001.seg").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
        for _ in range(2):
            with self.assertRaises(JournalFull) as caught:
                journal.started("call-3", "f", "main", "")
            self.assertIn("make room on the disk", str(caught.exception))
        with self.assertRaises(JournalFull):
            journal.queued("call-3", "f", "main", "", {"detach": True}, b"x" * 1000)
        self.assertIsNone(journal.find("call-3"))
        journal.result("call-2", 1, [b"in ", b"memory"])
        self.assertEqual(b"".join(next(journal.events("call-2")).body), b"in memory")
        self.assertEqual((self.folder / "00000001.seg").stat().st_size, size)  # of what did not fit, nothing has stayed
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.run_one(journal, "call-4")

    def test_large_arguments_leave_room_on_the_disk(self) -> None:
        journal, large = self.open(), b"x" * (1 << 20)
        disk = list(os.statvfs(self.folder))
        disk[0], disk[1], disk[2], disk[4] = 4096, 4096, 16 << 18, 100 << 8  # of 16 GiB, 100 MiB are free
        with mock.patch("os.statvfs", lambda path: os.statvfs_result(disk)):
            with self.assertRaises(JournalFull) as caught:
                journal.queued("call-1", "f", "main", "", {"detach": True}, large)
            self.assertIn("make room", str(caught.exception))
            self.assertIsNone(journal.find("call-1"))
            journal.queued("call-2", "f", "main", "", {"detach": True}, b"small")  # others still have room
            self.run_one(journal, "call-3")
        journal.queued("call-1", "f", "main", "", {"detach": True}, large)

    def test_a_folder_that_cannot_be_written(self) -> None:
        journal = self.open()
        journal._writer.store.close()  # type: ignore[union-attr]
        with self.assertRaises(JournalFull):
            journal.started("call-1", "f", "main", "")


class Threads(Case):
    def test_many_at_once(self) -> None:
        journal, faults = self.open(segment=50_000), []

        def work(number: int) -> None:
            try:
                for n in range(200):
                    id = "call-%d-%d" % (number, n)
                    self.run_one(journal, id, b"%d" % n * 20)
                    if next(journal.events(id)).body != b"%d" % n * 20:
                        faults.append(id)
                    if n % 3:
                        journal.acked(id)
            except Exception as e:
                faults.append(e)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        after = self.again()
        for number in range(5):
            for n in range(0, 200, 3):
                self.assertEqual(next(after.events("call-%d-%d" % (number, n))).body, b"%d" % n * 20)


if __name__ == "__main__":
    unittest.main()
