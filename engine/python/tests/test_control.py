"""What the runtime says while calls run: other tokens, an edited file, how much of the record has been taken. And what a record has."""

import json
import os
import signal
import threading
import unittest
from unittest import mock

import numpy as np
from harness import Failed, Worker, eventually, frame, serve

from seer_worker.journal.recording import Recording
from seer_worker.journal.scan import scan
from seer_worker.values import decode, encode, value_parts

CODE = '''
import os, threading, time
import numpy as np
go, state = threading.Event(), [0]

@expose
def f(x): return x

@expose
def wait():
    print("waits")
    go.wait(60)
    return state[0]

@expose(concurrent=True)
def open_gate(): go.set()

@expose
def wait_for_file():
    print("waits")
    while not os.path.exists("go"):
        time.sleep(0.02)
    return 5

@expose
def bump():
    state[0] += 1
    return state[0], os.getpid()

@expose
def zeros(n: int): return np.zeros(n)

@expose
def sums(*arrays): return [float(a.sum()) for a in arrays]
'''


class Case(unittest.TestCase):
    def serve(self, code=CODE, **options):
        worker = serve(code, **options)
        worker.__enter__()
        self.addCleanup(worker.__exit__)
        return worker

    def failure(self, peer, call):
        with self.assertRaises(Failed) as caught:
            peer.answer(call)
        return caught.exception

    def running(self, worker, fn):
        peer = worker.connect(runtime=True)
        eventually(lambda: [c for c in peer.calls() if c["function"] == fn and c["state"] == "running"], "the call to run")

    def begun(self, peer, call):
        """Waits until the function of a call with output prints: its call is "running" a moment before the journal has it."""
        eventually(lambda: next(peer.events(call))[0]["t"] == "output", "the call to begin")


class Tokens(Case):
    def test_new_limits_while_calls_run(self):
        worker = self.serve(tokens=[{"id": "t-one", "calls": 3}])
        peer, admin = worker.connect(token="t-one"), worker.connect()
        call = peer.start("wait")
        self.running(worker, "wait")
        worker.tell({"t": "tokens", "tokens": [{"id": "t-one", "calls": 2, "functions": ["f", "wait"]}]})
        admin.call("open_gate")
        self.assertEqual(peer.answer(call), 0)
        self.assertEqual(peer.call("f", 1), 1)  # the second: what has run before counts
        for fn in ("f", "zeros"):
            self.assertEqual(self.failure(peer, peer.start(fn, 1)).code, "refused")
        worker.tell({"t": "tokens", "tokens": [{"id": "t-one"}]})
        eventually(lambda: self.succeeds(peer), "the new limits")

    def succeeds(self, peer):
        try:
            return peer.call("f", 1) == 1
        except Failed:
            return False

    def test_a_revoked_token_while_its_call_runs(self):
        worker = self.serve(tokens=[{"id": "t-one"}, {"id": "t-two"}])
        one, two = worker.connect(token="t-one"), worker.connect(token="t-two")
        call = one.start("wait", options={"linger": 60, "output": True})
        self.begun(one, call)
        worker.tell({"t": "tokens", "tokens": [{"id": "t-two"}]})
        with self.assertRaises(EOFError):
            one.answer(call)
        self.assertEqual([c["id"] for c in worker.connect(runtime=True).calls() if c["state"] == "running"], [call])  # it goes on
        two.call("open_gate")
        self.assertEqual(two.call("f", 2), 2)

    def test_what_is_asked_after_a_change_is_asked_under_it(self):
        worker = self.serve(tokens=[{"id": "t-one", "functions": ["f"]}, {"id": "t-two", "functions": ["f"]}])
        for token, changed, revoked in (("t-two", [{"id": "t-one", "functions": ["f"]}], True), ("t-one", [{"id": "t-one"}], False)):
            peer = worker.connect(token=token)
            self.assertEqual(peer.call("f", 1), 1)
            worker.process.send_signal(signal.SIGSTOP)
            os.waitpid(worker.process.pid, os.WUNTRACED)
            call = frame({"t": "call", "id": "asked-" + token, "fn": "bump"}, b'{"args": [], "kwargs": {}}')
            peer.sock.sendall(call[:5])  # what the worker is woken for
            worker.tell({"t": "tokens", "tokens": changed})
            peer.sock.sendall(call[5:])
            worker.process.send_signal(signal.SIGCONT)
            if revoked:
                with self.assertRaises(EOFError):
                    peer.answer("asked-" + token)
            else:
                self.assertEqual(peer.answer("asked-" + token)[0], 1)

    def test_a_client_that_gets_the_number_of_one_dropped_before_it(self):
        worker = self.serve(tokens=[{"id": "main"}, {"id": "t-one"}, {"id": "t-two"}])
        old = worker.connect(token="t-one")
        self.assertEqual(old.call("f", 1), 1)
        worker.process.send_signal(signal.SIGSTOP)
        os.waitpid(worker.process.pid, os.WUNTRACED)
        old.sock.sendall(b"x")  # what the worker is woken for
        tokens = {"t": "tokens", "tokens": [{"id": "main"}, {"id": "t-two"}]}
        first = worker.connect(tokens)  # one read, as a second descriptor ends it
        second = worker.connect(token="t-two")  # and another one
        worker.process.send_signal(signal.SIGCONT)
        for peer, token in ((first, "main"), (second, "t-two")):
            self.assertEqual(peer.call("f", token), token)
        with self.assertRaises((EOFError, ConnectionResetError)):
            old.read()


class Reload(Case):
    def test_between_two_calls(self):
        worker = self.serve()
        peer, other = worker.connect(), worker.connect()
        self.assertEqual(peer.call("bump")[0], 1)
        call = peer.start("wait")
        self.running(worker, "wait")
        path = worker.folder / "edited.py"
        path.write_text(CODE.replace("state[0] += 1", "state[0] += 10"))
        worker.tell({"t": "reload", "filename": "interface.py", "path": str(path), "generation": 2})
        waiting = other.start("bump")
        worker.connect().call("open_gate")
        self.assertEqual(peer.answer(call), 1)
        self.assertEqual(other.answer(waiting)[0], 11)  # it came after the edit
        said = worker.heard()
        self.assertEqual((said["t"], said["kept"]), ("ready", True))
        hello = worker.rejoin()
        self.assertEqual((hello["generation"], hello["interface"]), (2, said["interface"]))

    def test_an_edit_that_is_given_up(self):
        worker = self.serve()
        peer = worker.connect()
        call = peer.start("wait")
        self.running(worker, "wait")
        path = worker.folder / "edited.py"
        path.write_text(CODE.replace("state[0] += 1", "state[0] += 10"))
        worker.tell({"t": "reload", "filename": "interface.py", "path": str(path), "generation": 2})
        worker.tell({"t": "unreload", "generation": 1})  # that was another one
        worker.tell({"t": "unreload", "generation": 2})
        self.assertEqual(worker.heard(), {"t": "kept_not", "reason": "it was given up"})
        worker.connect().call("open_gate")
        peer.answer(call)
        self.assertEqual(peer.call("bump")[0], 1)
        self.assertEqual(worker.rejoin()["generation"], 1)

    def test_what_is_not_safe(self):
        worker = self.serve()
        peer = worker.connect()
        for code, reason in ((CODE + "\nx = 1\n", "runs while the file is loaded"), ("def", "invalid syntax")):
            path = worker.folder / "edited.py"
            path.write_text(code)
            worker.tell({"t": "reload", "filename": "interface.py", "path": str(path), "generation": 2})
            said = worker.heard()
            self.assertEqual(said["t"], "kept_not")
            self.assertIn(reason, said["reason"])
            self.assertEqual(peer.call("f", 1), 1)
        self.assertEqual(worker.rejoin()["generation"], 1)


class Record(Case):
    def records(self, worker):
        found = []
        for path in sorted(worker.journal.glob("*.seg")):
            data = path.read_bytes()
            with open(path, "rb") as file:
                found += [(r.header, data[r.end - r.size:r.end]) for r in scan(file.fileno(), 0)]
        return found

    def test_arguments_and_answers_are_whole(self):
        worker = self.serve(record=True)
        peer = worker.connect()
        array = np.arange(3_000_000.0)  # 24 MB
        encoded = encode({"args": [array], "kwargs": {}})
        peer.send({"t": "call", "id": "whole-0001", "fn": "f", "tagged": True}, b"".join(encoded.body()))
        header, body = peer.read()
        self.assertTrue(np.array_equal(decode(value_parts(body), True), array))
        records = {h["t"]: (h, b) for h, b in self.records(worker) if h.get("id") == "whole-0001"}
        self.assertEqual(list(records), ["queued", "started", "result"])
        self.assertTrue(np.array_equal(decode(value_parts(records["queued"][1]), True)["args"][0], array))
        self.assertNotIn("missing", records["result"][0])
        self.assertTrue(np.array_equal(decode(value_parts(records["result"][1]), True), array))

    def test_it_can_begin_later(self):
        """And ends by itself, when nobody asks for the journal any more."""
        worker = self.serve()
        peer = worker.connect()

        def queued():
            peer.call("f", 1)
            return sum(h["t"] == "queued" for h, _ in self.records(worker))

        self.assertEqual(queued(), 0)
        worker.tell({"t": "record", "seconds": 3600})
        eventually(queued, "the arguments of a call to be recorded")

    def test_it_ends_without_a_reader(self):
        now = 100.0
        with mock.patch("time.monotonic", lambda: now):
            recording = Recording()
            self.assertFalse(recording)
            recording.prolong(10)
            recording.prolong(5)
            now += 9
            self.assertTrue(recording)
            now += 2
            self.assertFalse(recording)
        self.assertTrue(Recording(True))

    def test_calls_that_never_run_are_in_it(self):
        worker = self.serve(record=True, tokens=[{"id": "t-one", "functions": ["f"]}])
        peer, limited = worker.connect(), worker.connect(token="t-one")
        errors = {}
        for asking, fn, body in ((peer, "none", b'{"args":[1]}'), (peer, "f", b'{"args":[]}'), (peer, "f", b'{"args":['),
                               (peer, "f", b"\0SV1" + b"\xff" * 100), (limited, "wait", b"{}")):
            call = "never-%04d" % len(errors)
            asking.send({"t": "call", "id": call, "fn": fn}, body)
            error = self.failure(asking, call)
            errors[call] = error.code
        self.assertEqual(list(errors.values()), ["unknown_function", "bad_arguments", "bad_arguments", "bad_arguments", "refused"])
        records = self.records(worker)
        for call, code in errors.items():
            kinds = [(h["t"], h.get("error", {}).get("code"), h.get("fn")) for h, _ in records if h.get("id") == call and h["t"] != "acked"]
            with self.subTest(code):
                if code == "refused":
                    self.assertEqual(kinds, [("refused", None, "wait")])
                else:
                    self.assertEqual([k[:2] for k in kinds], [("queued", None), ("error", code)])
        self.assertEqual([b for h, b in records if h["t"] == "queued"][:2], [b'{"args":[1]}', b'{"args":[]}'])
        peer.send({"t": "call", "id": "never-0000", "fn": "f"}, b'{"args":[1]}')  # the name is known, though the answer has been taken
        self.assertEqual(self.failure(peer, "never-0000").code, "unknown_call")

    def test_segments_stay_until_they_are_drained(self):
        worker = self.serve(record=True)
        peer = worker.connect()
        for _ in range(5):
            peer.start("zeros", 2_500_000)  # 20 MB
            peer.read()
        segments = sorted(p.name for p in worker.journal.glob("*.seg"))
        self.assertEqual(segments, ["00000001.seg", "00000002.seg"])
        worker.tell({"t": "drained", "segment": 1})
        eventually(lambda: not (worker.journal / segments[0]).exists(), "the first segment to go")
        self.assertEqual(peer.call("f", 1), 1)


class Ways(Case):
    def test_deflate(self):
        worker = self.serve()
        peer = worker.connect()
        array = np.zeros(1_000_000)
        body = b"".join(encode({"args": [array], "kwargs": {}}).body(True))
        peer.send({"t": "call", "id": "deflate-0001", "fn": "f", "tagged": True, "deflate": True}, body)
        header, answer = peer.read()
        self.assertEqual(header["t"], "result", header)
        self.assertLess(len(body) + len(answer), 500_000)
        self.assertTrue(np.array_equal(decode(value_parts(answer), True), array))

    def test_a_connection_with_much_that_waits_is_held(self):
        worker = self.serve()
        blocker, peer = worker.connect(), worker.connect()
        call = blocker.start("wait")
        self.running(worker, "wait")
        array = np.ones(3_000_000)  # 24 MB
        body, count = b"".join(encode({"args": [array], "kwargs": {}}).body()), 12

        def send():
            for i in range(count):
                peer.send({"t": "call", "id": "heavy-%04d" % i, "fn": "sums", "tagged": True}, body)

        sender = threading.Thread(target=send)
        sender.start()
        runtime = worker.connect(runtime=True)
        eventually(lambda: len([c for c in runtime.calls() if c["state"] == "queued"]) >= 3, "some to wait")
        sender.join(1)
        self.assertTrue(sender.is_alive())  # 288 MB have not been taken
        self.assertLess(len([c for c in runtime.calls() if c["state"] == "queued"]), 6)
        blocker_gate = worker.connect()
        blocker_gate.call("open_gate")
        self.assertEqual(blocker.answer(call), 0)
        answers = []
        while len(answers) < count:
            header, said = peer.read()
            if header["t"] != "queued":
                answers.append((header["t"], json.loads(said)))
        sender.join(120)
        self.assertEqual(answers, [("result", [3_000_000.0])] * count)

    def test_a_call_that_goes_on_in_the_worker_that_is_replaced(self):
        with serve(CODE) as old:
            first = old.connect()
            call = first.start("wait_for_file", options={"detach": True, "output": True})
            self.begun(first, call)
            with Worker(CODE, journal=old.journal) as new:
                peer = new.ready().connect()
                peer.start("wait_for_file", call_id=call)  # the same name at the new worker
                self.assertEqual(new.connect().call("f", 1), 1)  # nobody runs there
                first.start("f", 7, call_id="detached-0001", options={"detach": True})
                eventually(lambda: len(first.calls()) == 2, "the second call to wait")
                old.tell({"t": "stop"})
                runtime = new.connect(runtime=True)
                self.assertEqual([c["state"] for c in runtime.calls(id=call)], ["running"])
                queued = new.connect()
                queued.start("f", 7, call_id="detached-0001")
                (old.workdir / "go").write_text("")
                self.assertEqual(peer.answer(call), 5)
                self.assertEqual(queued.answer("detached-0001"), 7)
                self.assertEqual(old.process.wait(120), 0)
                self.assertEqual([c["state"] for c in runtime.calls(id=call)], ["done"])

    def test_a_call_whose_worker_dies_after_it_was_replaced(self):
        with serve(CODE) as old:
            first = old.connect()
            call = first.start("wait_for_file", options={"detach": True, "output": True})
            self.begun(first, call)
            with Worker(CODE, journal=old.journal) as new:
                peer = new.ready().connect()
                peer.start("wait_for_file", call_id=call)
                self.assertEqual(new.connect().call("f", 1), 1)
                old.process.kill()
                self.assertEqual(self.failure(peer, call).code, "interrupted")


if __name__ == "__main__":
    unittest.main()
