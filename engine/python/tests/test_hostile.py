"""Clients that mean harm, with a token of their own: nobody else may be hurt by them."""

import json
import socket
import struct
import tempfile
import time
import unittest
from pathlib import Path

from harness import LIMIT, Failed, Peer, eventually, frame, serve

CODE = '''
import time

@expose
def echo(value=1): return value

@expose
def nap(seconds): time.sleep(seconds)

@expose(concurrent=True)
def count(n=3): yield from range(n)
'''
ODD = ["", [], {}, None, True, -1, 1e14, 10**30, "\ud800", "a" * 600, [["b"]], 0.5]
FIELDS = ["fn", "tagged", "timeout", "output", "handle_above", "linger", "detach", "age", "from", "deflate", "ack", "client", "token", "n"]
BODIES = [
    b"", b"{}", b"[]", b'{"args":{"$seer":1}}', b'{"args":[{"$seer":{"bytes":1}}]}', b"\x00SV1\x00\x00\x00\x00", b"[" * 100_000, b"\xff"]
# A worker that starts with few descriptors, and may have no more.
FEW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))"


class Hostile(unittest.TestCase):
    def seconds_of(self, peer: Peer, value: int) -> float:
        begun = time.monotonic()
        self.assertEqual(peer.call("echo", value), value)
        return time.monotonic() - begun

    def test_odd_options_hurt_nobody_else(self) -> None:
        with serve(CODE, tokens=[{"id": "main"}, {"id": "t-a"}]) as worker:
            for kind in ("call", "attach", "cancel", "ack", "more", "calls"):
                for field in FIELDS:
                    for i, odd in enumerate(ODD):
                        peer = worker.connect(token="t-a")
                        try:
                            id = "odd-%s-%s-%06d" % (kind, field, i)
                            peer.send({"t": kind, "id": id, "fn": "echo", field: odd}, BODIES[i % len(BODIES)])
                            peer.send({"t": "call", "id": id + "-", "fn": "count", field: odd})
                        except OSError:  # it has been thrown out
                            pass
                        peer.close()
            self.assertEqual(worker.connect().call("echo", 5), 5)
            self.assertIsNone(worker.process.poll(), worker.printed())

    def test_answers_that_nobody_reads_do_not_fill_the_memory(self) -> None:
        with serve(CODE) as worker:
            self.assertEqual(worker.connect().call("echo", 5), 5)
            before = memory(worker.process.pid)
            flood = worker.connect()
            one, sent = frame({"t": "attach", "id": "nothing-1"}), 0
            data = one * 1000
            flood.sock.settimeout(1)
            while sent < 2000 * len(data):
                try:
                    sent += flood.sock.send(data[sent % len(data):])
                except socket.timeout:
                    if sent > 5000 * len(one):  # else the worker is only slow
                        break
            self.assertLess(sent, 2000 * len(data), "the worker hears it all")
            self.assertLess(memory(worker.process.pid) - before, 40)
            self.assertEqual(worker.connect().call("echo", 6), 6)
            flood.sock.settimeout(LIMIT)
            for _ in range(5000):  # whoever reads again is heard again
                self.assertEqual(flood.read()[0]["error"]["code"], "unknown_call")

    def test_many_lists_of_many_calls_hold_up_nobody(self) -> None:
        with serve(CODE) as worker:
            peer = worker.connect()
            for i in range(3000):
                peer.call("echo", i)
            for _ in range(4):  # again where the machine stood still
                flood = worker.connect()
                flood.sock.sendall(frame({"t": "calls"}) * 300)
                slowest = max(self.seconds_of(peer, i) for i in range(20))
                if slowest < 5:
                    break
            self.assertLess(slowest, 5)
            header, body = flood.read()
            self.assertEqual(header["t"], "calls")
            self.assertIn(len(json.loads(body)), (1000, 1001))  # the newest, and one that may be about to end
            self.assertEqual([c["id"] for c in peer.calls(id=peer.name + "-000001")], [peer.name + "-000001"])

    def test_more_connections_than_fit(self) -> None:
        with serve(CODE, prepare=FEW, tokens=[{"id": "main"}, {"id": "t-a"}]) as worker:
            first = worker.connect()
            greedy = [worker.connect(token="t-a", hello="101 ") for _ in range(600)]
            self.assertEqual(first.call("echo", 1), 1)
            self.assertEqual(worker.connect().call("echo", 2), 2)  # others still come
            refused = b"".join(iter(lambda: greedy[-1].sock.recv(4096), b""))
            head, _, body = refused.partition(b"\r\n\r\n")
            self.assertIn(b"503", head)
            self.assertEqual(json.loads(body)["error"]["code"], "unavailable")
            self.assertIn(b"Content-Length: %d" % len(body), head)
            self.assertEqual(greedy[0].sock.recv(4), b"101 ")
            self.assertEqual(greedy[0].call("echo", 3), 3)
            for peer in greedy:
                peer.close()
            eventually(lambda: taken(worker), "there is room again")

    def test_the_share_of_a_token(self) -> None:
        with serve(CODE, tokens=[{"id": "main"}, {"id": "t-a"}], limits={"queue": 20}) as worker:
            main, greedy = worker.connect(), worker.connect(token="t-a")
            main.start("nap", 60, options={"linger": 0})
            eventually(lambda: any(c["state"] == "running" for c in worker.connect().calls()), "it runs")
            for i in range(15):
                greedy.start("echo", i)
            full = [next(h for h, _ in iter(greedy.read, None) if h["t"] == "error") for _ in range(5)]
            self.assertEqual({h["error"]["code"] for h in full}, {"busy"})
            self.assertIn("half of the 20 calls", full[0]["error"]["message"])
            mine = main.start("echo", 7)
            eventually(lambda: [c for c in worker.connect().calls() if c["id"] == mine and c["state"] == "queued"], "it waits")

    def test_names_of_functions_that_are_not_allowed_are_not_told(self) -> None:
        with serve(CODE, tokens=[{"id": "main"}, {"id": "t-a", "functions": ["echo"]}]) as worker:
            for name in ("$handle.nothing", "$", "nap", "zzz", "$nap"):
                with self.assertRaises(Failed) as caught:
                    worker.connect(token="t-a").call(name)
                self.assertNotIn("count", str(caught.exception))
            with self.assertRaises(Failed) as caught:
                worker.connect().call("$nap")
            self.assertIn("count", str(caught.exception))

    def test_handles_of_a_token_that_has_expired_or_was_revoked(self) -> None:
        with serve(CODE, tokens=[{"id": "main"}, {"id": "t-a", "expires_unix": time.time() + 3600}]) as worker:
            peer = worker.connect(token="t-a")
            self.assertEqual(peer.call("$handle.list"), [])
            worker.tell({"t": "tokens", "tokens": [{"id": "main"}, {"id": "t-a", "expires_unix": time.time() - 1}], "price": 0})
            eventually(lambda: refused(peer), "the end of the token")

    def test_a_journal_has_nothing_but_what_was_understood(self) -> None:
        with serve(CODE, record=True, tokens=[{"id": "main"}, {"id": "t-a"}]) as worker:
            peer = worker.connect(token="t-a", client="guest")
            odd = {"token": "main", "Token": "main", "FN": "nap", "Id": "other-000001", "T": "result", "TIME": [], "client": "guest",
                   "Detach": 1, "deflate": {}, "output": "yes", "handle_above": 1e9 + 0.5, "linger": 3, "more": "x" * 1000}
            peer.call("echo", 5, call_id="odd-000001", options=odd)
            records = [h for segment in sorted(worker.journal.glob("**/*.seg")) for h in headers(segment.read_bytes())]
            queued = [h for h in records if h["t"] == "queued"]
            self.assertEqual(len(queued), 1)
            queued[0].pop("time")
            self.assertEqual(queued[0], {"t": "queued", "id": "odd-000001", "fn": "echo", "token": "t-a", "client": "guest",
                                         "handle_above": 1_000_000_000, "linger": 3})

    def test_what_a_call_has_spent_until_its_worker_died_is_spent(self) -> None:
        code = "import os, time\n@expose\ndef die(s):\n    time.sleep(s)\n    os._exit(3)\n@expose\ndef fine(): return 1\n"
        tokens = [{"id": "main"}, {"id": "t-a", "spend": 0.5}]
        with tempfile.TemporaryDirectory() as folder:
            for fn, args in (("die", [2.5]), ("fine", [])):
                with serve(code, journal=Path(folder), tokens=tokens, price=3600.0 / 4) as worker:  # a quarter of a dollar for a second
                    peer = worker.connect(token="t-a")
                    if fn == "die":
                        with self.assertRaises((EOFError, OSError, Failed)):
                            peer.call(fn, *args)
                        continue
                    with self.assertRaises(Failed) as caught:
                        peer.call(fn)
                    self.assertEqual(caught.exception.code, "refused")
                    self.assertIn("spent", caught.exception.message)

    def test_a_hidden_model_is_not_told_by_what_is_shown(self) -> None:
        code = '''
            import sys, time
            where = get_model_path("org/secret-one")

            class SecretOneModel:
                def __repr__(self): return "SecretOneModel from " + where

            @expose
            def model(): return SecretOneModel()

            @expose
            def models(): return [SecretOneModel()]

            @expose
            def slowly():
                for part in ("from org/sec", "ret-o", "ne, ", "done"):
                    sys.stdout.write(part)
                    time.sleep(0.1)
            '''
        hidden = {"name": "org/secret-one", "path": "/nowhere/org--secret-one", "env_name": "MODEL_SECRET", "var_name": "model_a",
                  "hidden": True}
        with serve(code, models=[hidden]) as worker:
            peer, told = worker.connect(), ""
            for name in ("model", "models"):
                id = peer.answer(peer.start(name, options={"handle_above": 0}))["$seer"]["handle"]["id"]
                told += json.dumps([peer.call("$handle.info", id), peer.call("$handle.list")])
            events = peer.events(peer.start("slowly", options={"output": True}))
            printed = "".join(body.decode() for header, body in events if header["t"] == "output")
            self.assertEqual(printed, "from model_a, done")
            self.assertIn("model_a", told)
            self.assertNotRegex(told.lower(), "secret.?one")

    def test_a_token_with_wrong_limits_does_not_end_the_worker(self) -> None:
        with serve(CODE, tokens=[{"id": "main"}]) as worker:
            for wrong in ({"rate": [0.5, 1]}, {"arguments": {"echo": {"value": {"pattern": "("}}}}, {"arguments": []}, {"calls": "x"}):
                worker.tell({"t": "tokens", "tokens": [{"id": "main"}, {"id": "t-a", **wrong}], "price": 0})
                self.assertEqual(worker.connect().call("echo", 5), 5)
            peer = worker.connect(token="t-a")
            eventually(lambda: refused(peer), "the refusal")


def headers(data: bytes):
    while len(data) >= 12:
        head, body = struct.unpack_from("<IQ", data)
        yield json.loads(data[12:12 + head])
        data = data[12 + head + body:]


def refused(peer) -> bool:
    try:
        peer.call("$handle.list")
        return False
    except Failed as e:
        return e.code == "refused"


def taken(worker) -> bool:
    peer = worker.connect(token="t-a", hello="101 ")
    try:
        return peer.sock.recv(4) == b"101 "
    finally:
        peer.close()


def memory(pid: int) -> float:
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * 4096 / (1 << 20)


if __name__ == "__main__":
    unittest.main()
