"""Named calls: joined, asked for again, followed over every cut, queued in turn, streamed and run side by side."""

import asyncio
import json
import os
import random
import signal
import socket
import threading
import time
import unittest
from pathlib import Path
from unittest.mock import Mock, patch

from harness import LIMIT, NOTES, Failed, Worker, alive, eventually, frame, serve

from seer_worker.calls.calls import Call
from seer_worker.calls.queues import CallQueue
from seer_worker.execution.concurrent import ConcurrentRunner

CODE = NOTES + '''
import asyncio, os, subprocess, threading, time

@expose
def echo(value): return value

@expose
def sleep(seconds):
    ran.append(seconds)
    time.sleep(seconds)
    return seconds

def until(path):
    while not os.path.exists(path):
        time.sleep(0.005)

@expose
def hold(path):
    ran.append(path)
    until(path)
    return path

@expose
def talk(n, path):
    for i in range(n):
        print("line", i, flush=True)
        until(path + str(i))
    return n

@expose
def count(n, size=0):
    for i in range(n):
        ran.append(i)
        yield "x" * size if size else i
    return "end"

@expose
async def acount(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

@expose
def child():
    subprocess.run(["sleep", "60"])

inside, most = 0, 0
lock = threading.Lock()

@expose(concurrent=3)
def side(path):
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)
    try:
        until(path)
        return threading.current_thread() is threading.main_thread()
    finally:
        with lock:
            inside -= 1

@expose(concurrent=True)
def most_inside(): return most

together = 0

@expose(concurrent=True)
async def task(n):
    global together
    together += 1
    while together < n:
        await asyncio.sleep(0.005)
    return n

@expose(concurrent=True)
def spin():
    ran.append("spin")
    while True:
        pass

@expose(concurrent=True)
def quick(value): return value

@expose(concurrent=True)
async def aside(seconds):
    await asyncio.sleep(seconds)
    return seconds

@expose(concurrent=1)
async def last(path):
    await asyncio.sleep(0)
    ran.append(path)
    until(path)  # holds the loop, and returns without another await
    return path

@expose(batch=8, batch_wait=0.2)
def double(values: list):
    sizes.append(len(values))
    if "bad" in values:
        raise ValueError("no")
    return [v * 2 for v in values]

@expose(batch=2, batch_wait=60)
def pair(values: list):
    sizes.append(len(values))
    return values

sizes = []

@expose
def batch_sizes(): return sizes

@expose(timeout=0.05)
def limited(): time.sleep(60)
'''


class Named(unittest.TestCase):
    def setUp(self):
        self.worker = serve(CODE)
        self.worker.__enter__()
        self.addCleanup(self.worker.__exit__)
        self.peer = self.worker.connect()
        self.go = str(self.worker.folder / "go")  # what hold() waits for

    def hold(self, peer=None, **how):
        """A call that runs until release()."""
        call_id = (peer or self.peer).start("hold", self.go, **how)
        self.running("hold")
        return call_id

    def release(self):
        Path(self.go).touch()

    def arrived(self, n):
        other = self.worker.connect(runtime=True)
        eventually(lambda: len(other.calls()) == n, "the calls to arrive")

    def ends(self, peer, ids):
        """The last frames of these calls, in their order; what else comes is passed over."""
        ended = []
        while len(ended) < len(ids):
            header, _ = peer.read()
            if header["t"] in ("result", "error"):
                ended.append(header)
        self.assertEqual(sorted(h["id"] for h in ended), sorted(ids))
        return ended

    def failure(self, call_id, peer=None):
        with self.assertRaises(Failed) as caught:
            (peer or self.peer).answer(call_id)
        return caught.exception

    def running(self, fn="sleep"):
        other = self.worker.connect(runtime=True)
        eventually(lambda: [c for c in other.calls() if c["function"] == fn and c["state"] == "running"], "the call to run")

    def test_the_same_name_runs_once(self):
        other = self.worker.connect()
        self.hold(call_id="client-one")
        other.start("hold", self.go, call_id="client-one")  # joins
        self.release()
        self.assertEqual([self.peer.answer("client-one"), other.answer("client-one")], [self.go] * 2)
        third = self.worker.connect()
        third.start("hold", self.go, call_id="client-one")  # has the answer
        self.assertEqual(third.answer("client-one"), self.go)
        self.assertEqual(self.peer.call("notes"), [self.go])

    def test_an_acknowledged_answer_is_given_up_and_its_name_is_not(self):
        self.peer.start("note", 1, call_id="client-one")
        self.assertEqual(self.peer.answer("client-one"), 1)
        self.peer.send({"t": "ack", "id": "client-one"})
        self.peer.start("note", 1, call_id="client-one")
        self.assertEqual(self.failure("client-one").code, "unknown_call")
        self.assertEqual(self.peer.call("notes"), [1])

    def test_the_next_call_acknowledges_unless_its_client_says_so_itself(self):
        for options, kept in ((None, False), ({"ack": []}, True)):
            peer, name = self.worker.connect(), "implicit-%d" % kept
            self.assertEqual(peer.answer(peer.start("echo", 1, call_id=name, options=options)), 1)
            peer.call("echo", 2, options=options)
            peer.send({"t": "attach", "id": name})
            if kept:
                self.assertEqual(peer.answer(name), 1)
            else:
                self.assertEqual(self.failure(name, peer).code, "unknown_call")

    def test_attach_never_begins(self):
        self.peer.send({"t": "attach", "id": "never-was"})
        self.assertEqual(self.failure("never-was").code, "unknown_call")

    def test_a_name_belongs_to_its_token(self):
        self.peer.start("sleep", 0.2, call_id="client-one")
        other = self.worker.connect(token="t-other")
        other.start("sleep", 0.2, call_id="client-one")
        self.assertEqual(self.failure("client-one", other).code, "refused")
        other.send({"t": "cancel", "id": "client-one"})
        self.assertEqual(other.calls(), [])
        self.assertEqual(self.peer.answer("client-one"), 0.2)

    def test_a_lost_client_comes_back(self):
        gone = self.worker.connect()
        self.hold(gone, call_id="client-one")
        gone.close()
        self.peer.start("hold", self.go, call_id="client-one", options={"age": 1})
        self.release()
        self.assertEqual(self.peer.answer("client-one"), self.go)

    def test_linger_and_detach(self):
        for options, state in (({"linger": 0.1}, "cancelled"), ({"detach": True}, "done")):
            gone, name = self.worker.connect(), "linger-%s" % state
            self.hold(gone, call_id=name, options=options)
            gone.close()
            if state == "done":
                self.release()
            eventually(lambda name=name, state=state: [c["state"] for c in self.peer.calls(id=name)] == [state], state)

    def test_a_call_is_detached_while_it_runs_or_waits(self):
        gone = self.worker.connect()
        self.hold(gone, call_id="runs-0001", options={"linger": 0.1})
        gone.start("note", "waited", call_id="waits-0001", options={"linger": 0.1})
        eventually(lambda: len(self.peer.calls()) == 2, "the calls to arrive")
        for name in ("runs-0001", "waits-0001"):
            self.worker.connect(token="t-two").send({"t": "attach", "id": name, "detach": True})  # whose call it is not
            self.assertEqual([c["detached"] for c in self.peer.calls(id=name)], [False])
            self.peer.send({"t": "attach", "id": name, "from": 1 << 30, "detach": True})
            self.assertEqual([c["detached"] for c in self.peer.calls(id=name)], [True])
        self.peer.close()
        gone.close()
        time.sleep(0.5)  # longer than they linger
        self.release()
        peer = self.worker.connect()
        for name, answer in (("runs-0001", self.go), ("waits-0001", "waited")):
            peer.send({"t": "attach", "id": name})
            self.assertEqual(peer.answer(name), answer)
            self.assertEqual([c["detached"] for c in peer.calls(id=name)], [True])

    def test_a_repeat_that_is_older_than_the_journal_is_interrupted(self):
        self.peer.start("note", 1, call_id="old-call", options={"age": 3600})
        self.assertEqual(self.failure("old-call").code, "interrupted")
        self.assertEqual(self.peer.call("notes"), [])

    def test_a_dead_worker(self):
        journal = self.worker.journal
        self.peer.start("note", "done", call_id="was-done", options={"ack": []})
        self.peer.answer("was-done")
        self.peer.start("talk", 1, self.go, call_id="was-running", options={"output": True})
        # It is "running" a moment before the journal has it, and before its function prints.
        eventually(lambda: next(self.peer.events("was-running"))[0]["t"] == "output", "the call to begin")
        self.peer.start("note", "queued", call_id="was-queued")
        self.peer.start("note", "detached", call_id="was-detached", options={"detach": True})
        eventually(lambda: len(self.worker.connect().calls()) == 4, "the calls to arrive")
        self.worker.process.kill()
        self.worker.process.wait()
        with serve(CODE, journal=journal) as second:
            peer = second.connect()
            for name in ("was-running", "was-queued", "was-detached", "was-done"):
                peer.start("note", name, call_id=name, options={"ack": [], "age": 0.001})
            self.assertEqual(self.failure("was-running", peer).code, "interrupted")
            answers = {}
            while len(answers) < 3:
                header, body = peer.read()
                if header["t"] == "result":
                    answers[header["id"]] = json.loads(body)
            self.assertEqual(answers, {"was-done": "done", "was-queued": "was-queued", "was-detached": "detached"})

    def test_the_queue_is_fair_and_tells_the_position(self):
        first = self.hold()
        greedy, modest = self.worker.connect(client="greedy"), self.worker.connect(client="modest")
        greedy_ids = [greedy.start("note", "g%d" % i) for i in range(4)]
        self.arrived(5)
        modest_ids = [modest.start("note", "m%d" % i) for i in range(2)]
        self.arrived(7)
        token = self.worker.connect(token="t-two")
        token_id = token.start("note", "t")
        told = {}
        while told != {modest_ids[0]: 2, modest_ids[1]: 4}:
            header, _ = modest.read()
            self.assertEqual(header["t"], "queued")
            told[header["id"]] = header["position"]
        self.release()
        for peer, ids in ((self.peer, [first]), (modest, modest_ids), (greedy, greedy_ids), (token, [token_id])):
            self.ends(peer, ids)
        self.assertEqual(self.peer.call("notes")[1:], ["g0", "t", "m0", "g1", "m1", "g2", "g3"])

    def test_a_full_queue_is_busy_and_the_name_may_run_later(self):
        with serve(CODE, limits={"queue": 2}) as worker:
            peer = worker.connect()
            go = worker.folder / "go"
            ids = [peer.start("hold", str(go))]
            eventually(lambda: worker.connect(runtime=True).calls()[0]["state"] == "running", "the call to run")
            ids += [peer.start("note", i) for i in range(2)]
            refused = peer.start("note", "later")
            self.assertEqual(self.ends(peer, [refused])[0]["error"]["code"], "busy")
            go.touch()
            self.assertEqual([(h["t"], h["id"]) for h in self.ends(peer, ids)], [("result", i) for i in ids])
            peer.start("note", "later", call_id=refused)
            self.assertEqual(self.ends(peer, [refused])[0]["t"], "result")

    def test_output_comes_while_it_runs(self):
        call_id = self.peer.start("talk", 4, self.go, options={"output": True})
        headers, text = [], ""
        for header, body in self.peer.events(call_id):
            headers.append(header)
            if header["t"] == "output":
                text += body.decode()
                for i in range(text.count("\n")):
                    Path(self.go + str(i)).touch()  # only then it goes on
        self.assertEqual(text, "".join("line %d\n" % i for i in range(4)))
        self.assertEqual([h["n"] for h in headers], list(range(1, len(headers) + 1)))

    def test_streams(self):
        for fn in ("count", "acount"):
            events = [e for e in self.peer.events(self.peer.start(fn, 5)) if e[0]["t"] != "queued"]
            self.assertEqual([(h["t"], h["n"]) for h, _ in events], [("item", i + 1) for i in range(5)] + [("result", 6)])
            self.assertEqual([json.loads(b) for _, b in events[:5]], list(range(5)))

    def test_a_stream_waits_for_who_reads_it(self):
        call_id = self.peer.start("count", 100, size=300_000)
        self.assertEqual(self.peer.read()[0]["n"], 1)
        time.sleep(0.5)
        other = self.worker.connect(runtime=True)
        self.assertEqual([c["state"] for c in other.calls(id=call_id)], ["running"])
        for n in range(2, 101):
            self.peer.send({"t": "more", "id": call_id, "n": n - 1})
            self.assertEqual(self.peer.read()[0]["n"], n)
        self.assertEqual(self.peer.answer(call_id), "end")

    def test_a_stream_that_is_held_can_be_cancelled(self):
        call_id = self.peer.start("count", 100, size=300_000)
        self.peer.read()
        time.sleep(0.2)
        self.peer.send({"t": "cancel", "id": call_id})
        self.assertEqual(self.failure(call_id).code, "cancelled")
        self.assertLess(len(self.peer.call("notes")), 10)

    def test_a_stream_goes_on_from_where_it_was_cut(self):
        gone = self.worker.connect()
        call_id = gone.start("count", 200, size=10)
        first = [gone.read()[0]["n"] for _ in range(50)]
        gone.close()
        self.peer.send({"t": "attach", "id": call_id, "from": 51})
        rest = [h["n"] for h, _ in self.peer.events(call_id)]
        self.assertEqual(first + rest, list(range(1, 202)))

    def test_side_by_side(self):
        peers, asks = [self.worker.connect() for _ in range(6)], self.worker.connect()
        blocker = self.hold()
        ids = [p.start("side", self.go) for p in peers]
        self.arrived(7)
        eventually(lambda: asks.call("most_inside") == 3, "three of them, beside the one that is in its turn")
        self.release()
        self.assertEqual([p.answer(i) for p, i in zip(peers, ids)], [False] * 6)
        self.assertEqual(self.peer.answer(blocker), self.go)
        self.assertEqual(self.peer.call("most_inside"), 3)

    def test_tasks(self):
        peers = [self.worker.connect() for _ in range(10)]
        ids = [p.start("task", 10) for p in peers]  # which end when all of them run
        self.assertEqual([p.answer(i) for p, i in zip(peers, ids)], [10] * 10)
        call_id = self.peer.start("aside", 60)
        self.running("aside")
        self.peer.send({"t": "cancel", "id": call_id})
        self.assertEqual(self.failure(call_id).code, "cancelled")
        self.assertEqual(self.failure(self.peer.start("aside", 60, timeout=0.1)).code, "timeout")

    def test_a_cancel_that_comes_to_a_task_too_late(self):
        """It hits neither the call nor the one after it."""
        other, canceller = self.worker.connect(), self.worker.connect()
        call_id = self.peer.start("last", self.go)
        eventually(lambda: other.call("notes"), "the call to be in its last stretch")
        following = other.start("last", self.go)
        eventually(lambda: [c["state"] for c in canceller.calls(id=following)] == ["queued"], "the next call to wait")
        canceller.send({"t": "cancel", "id": call_id})
        canceller.calls()  # answered after the cancel
        self.release()
        self.assertEqual((self.peer.answer(call_id), other.answer(following)), (self.go, self.go))

    def test_cancel_and_timeout_in_a_thread(self):
        call_id = self.peer.start("spin")
        self.running("spin")
        self.assertEqual(self.worker.connect().call("echo", 1), 1)
        self.peer.send({"t": "cancel", "id": call_id})
        self.assertEqual(self.failure(call_id).code, "cancelled")
        self.assertEqual(self.failure(self.peer.start("spin", timeout=0.1)).code, "timeout")

    def test_the_timeout_of_a_function(self):
        failure = self.failure(self.peer.start("limited"))
        self.assertEqual((failure.code, failure.message), ("timeout", "limited took longer than the 0.05 seconds that its "
                                                                      "@expose(timeout=…) allowed"))

    def test_quick_functions_side_by_side(self):
        peers = [self.worker.connect() for _ in range(8)]

        def client(peer):
            for i in range(100):
                self.assertEqual(peer.call("quick", i), i)

        threads = [threading.Thread(target=client, args=(p,)) for p in peers]
        for t in threads:
            t.start()
        for t in threads:
            t.join(LIMIT)
        self.assertEqual(self.worker.counts(), (800, 800))

    def test_batches(self):
        self.hold()
        peers = [self.worker.connect() for _ in range(8)]
        ids = [p.start("double", i) for i, p in enumerate(peers)]
        self.arrived(9)
        self.release()
        self.assertEqual([p.answer(i) for p, i in zip(peers, ids)], [2 * i for i in range(8)])
        self.assertEqual(peers[0].call("batch_sizes"), [8])
        self.assertEqual(self.failure(peers[0].start("double", "bad"), peers[0]).type, "ValueError")

    def test_a_batch_waits_for_more(self):
        other = self.worker.connect()
        for _ in range(20):  # whoever of its two threads sees the second call
            began = time.monotonic()
            first = self.peer.start("pair", 1)
            self.running("pair")
            self.assertEqual((other.call("pair", 2), self.peer.answer(first)), (2, 1))
            self.assertLess(time.monotonic() - began, 60, "a batch that was full has waited for its time to end")
        self.assertEqual(self.peer.call("batch_sizes"), [2] * 20)

    def test_cancel_reaches_child_processes(self):
        call_id = self.peer.start("child")
        self.running("child")
        children = Path("/proc/%d/task/%d/children" % (self.worker.process.pid, self.worker.process.pid))
        eventually(lambda: children.read_text().split(), "the child to start")
        pids = list(map(int, children.read_text().split()))
        self.peer.send({"t": "cancel", "id": call_id})
        self.assertEqual(self.failure(call_id).code, "cancelled")
        eventually(lambda: not any(map(alive, pids)), "the child to end")

    def test_a_connection_that_is_cut_at_every_byte(self):
        call = frame({"t": "call", "id": "cutting-000", "fn": "note"}, b'{"args":["cutting-000"],"kwargs":{}}')
        for cut in range(0, len(call) + 1, 3):
            name = "cutting-%03d" % cut
            gone = self.worker.connect()
            gone.sock.sendall(call.replace(b"cutting-000", name.encode())[:cut])
            gone.close()
            self.assertEqual(self.peer.answer(self.peer.start("note", name, call_id=name)), name)
        ran = self.peer.call("notes")
        self.assertEqual(len(ran), len(set(ran)))

    def test_random_cuts_with_many_clients(self):
        chance = random.Random(5)

        def client(k):
            for i in range(20):
                name = "client%d-%06d" % (k, i)
                while True:
                    peer = self.worker.connect()
                    try:
                        peer.start("note", name, call_id=name)
                        if chance.random() < 0.5:
                            time.sleep(chance.random() * 0.005)
                            peer.sock.shutdown(socket.SHUT_RDWR)
                        self.assertEqual(peer.answer(name), name)
                        break
                    except (EOFError, OSError):
                        peer.close()

        lock, connect = threading.Lock(), self.worker.connect

        def connect_alone():
            with lock:
                return connect()

        self.worker.connect = connect_alone
        threads = [threading.Thread(target=client, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(LIMIT)
        ran = self.peer.call("notes")
        self.assertEqual((len(ran), len(set(ran))), (160, 160))

    def test_a_worker_that_is_suspended(self):
        call_id = self.hold()
        os.kill(self.worker.process.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(self.worker.process.pid, signal.SIGCONT)
        self.release()
        self.assertEqual(self.peer.answer(call_id), self.go)

    def test_many_calls_that_wait(self):
        call_id = self.hold()
        others = [self.worker.connect() for _ in range(50)]
        ids = [[p.start("echo", i) for i in range(20)] for p in others]
        eventually(lambda: len(self.peer.calls()) == 1001, "the calls to arrive")
        self.release()
        self.assertEqual(self.peer.answer(call_id), self.go)
        for p, names in zip(others, ids):
            got = 0
            while got < len(names):
                got += p.read()[0]["t"] == "result"


class Places(unittest.TestCase):
    def test_a_fault_of_the_worker_gives_the_place_of_its_call_back(self):
        broken = Mock(**{"perform.side_effect": OSError, "beside.side_effect": OSError, "open.side_effect": OSError})
        runner = ConcurrentRunner(Mock(lock=threading.Lock()), Mock(), broken, broken, Mock())
        ways = {"thread": runner._thread, "batch": runner._batch, "task": lambda *call: asyncio.run(runner._task(*call)),
                "passing": runner.in_passing}
        for name, way in ways.items():
            queue = CallQueue(1, False)
            calls = [Call({"t": "call", "id": "call-000%d" % i, "fn": "f"}, b"", "main", "") for i in range(2)]
            queue.waiting.push("main", "", calls[1])
            calls[0].queue, queue.running = queue, 1
            with self.subTest(name), patch.object(runner, "start") as start:
                with self.assertRaises(OSError):
                    way(calls[0], queue)
                start.assert_called_once_with(calls[1], queue)
                with self.assertRaises(OSError):
                    way(calls[0], queue)
                self.assertEqual(queue.running, 0)


class Full(unittest.TestCase):
    def test_a_disk_that_is_full(self):
        """What cannot be written does not run, and answers that cannot be written are given all the same."""
        prepare = ("import resource,signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                   "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))")
        with Worker(CODE, prepare=prepare) as worker:
            peer = worker.ready().connect()
            codes = set()
            for i in range(60):
                try:
                    self.assertEqual(peer.call("note", i, options={"ack": []}), i)
                except Failed as e:
                    codes.add(e.code)
            self.assertEqual(codes, {"busy"})


if __name__ == "__main__":
    unittest.main()
