"""Whatever is cut, killed or wrong on the way: one right answer, or an error that says what is known."""

import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import bundle
import numpy as np
from client import (
    Aborted,
    Call,
    CallTimeout,
    Cancelled,
    Client,
    Cut,
    Event,
    Info,
    Interrupted,
    Options,
    SeerError,
    Unreachable,
    dial,
    options,
)
from fake_worker import Frames, Service
from fakes import HELLO, Front
from harness import eventually


def echo(call, value):
    return value


def sleep(call, seconds):
    call.sleep(seconds)
    return seconds


def count(call, n):
    for i in range(n):
        call.print("%d." % i)
        yield i


def once(file, *args, **options):
    """A call of a client that is not kept."""
    with Client(file) as client:
        return client.call(*args, **options)


def service():
    return Service(echo=echo, sleep=sleep, count=count)


class Cutter:
    """Stands before a front, and cuts its first connections after so many bytes to (up) or from (down) it."""

    def __init__(self, front):
        self.front, self.limits, self.passed = front, [], []
        front.on_connection = self._accept

    def _accept(self, sock):
        up, down = self.limits.pop(0) if self.limits else (None, None)
        ours, theirs = socket.socketpair()
        self.front._connections.append(ours)
        self.front._spawn(self.front._serve, theirs)
        passed = [0, 0]
        self.passed.append(passed)
        self.front._spawn(self._pump, sock, ours, up, passed, 0)
        self.front._spawn(self._pump, ours, sock, down, passed, 1)
        return True

    def clean(self):
        self.front.worker.cut()
        while self.front._connections:
            sock = self.front._connections.pop()
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _pump(self, source, target, limit, passed, way):
        try:
            while limit is None or limit > 0:
                data = source.recv(min(limit or 1 << 16, 1 << 16))
                if not data:
                    break
                passed[way] += len(data)  # before somebody who has it can ask
                target.sendall(data)
                limit = None if limit is None else limit - len(data)
        except OSError:
            pass
        for sock in (source, target):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Cuts(unittest.TestCase):
    """A connection that is cut at any byte makes no difference."""

    def cut_everywhere(self, check, step=1, http=False, **way):
        with Front(service(), **way) as front:
            cutter = Cutter(front)
            with Client(front.file) as whole:
                whole._hand_over = not http
                check(whole)
            up, down = cutter.passed[-1]
            self.assertGreater(min(up, down), 100)
            for at in [*range(0, up, step), *range(up, up + down, step)]:
                cutter.limits = [(at, None) if at < up else (None, at - up)]
                before = len(front.worker.begun)
                with self.subTest(at), Client(front.file) as client:
                    client._hand_over = not http
                    check(client)
                self.assertEqual(len(front.worker.begun), before + 1)
                cutter.clean()

    def test_a_call(self):
        self.cut_everywhere(lambda c: self.assertEqual(c.call("echo", ([1, 2.5, "x"],)), [1, 2.5, "x"]))

    def test_a_call_by_http(self):
        self.cut_everywhere(lambda c: self.assertEqual(c.call("echo", ([1, 2.5, "x"],)), [1, 2.5, "x"]), tcp=True, http=True)

    def test_a_call_by_a_carried_port(self):
        self.cut_everywhere(lambda c: self.assertEqual(c.call("echo", ([1, 2.5, "x"],)), [1, 2.5, "x"]), tcp=True)

    def stream(self, client):
        heard = []
        with options(output=lambda stream, text: heard.append(text)):
            self.assertEqual(list(client.stream("count", (3,))), [0, 1, 2])
        self.assertEqual("".join(heard), "0.1.2.")

    def test_a_stream(self):
        self.cut_everywhere(self.stream)

    def test_a_stream_by_http(self):
        self.cut_everywhere(self.stream, step=3, tcp=True, http=True)

    def test_a_stream_by_a_carried_port(self):
        self.cut_everywhere(self.stream, step=3, tcp=True)

    def test_large_values(self):
        array = np.arange(400_000, dtype="float32")

        def check(client):
            self.assertTrue(np.array_equal(client.call("echo", (array,)), array))

        self.cut_everywhere(check, step=160_001)
        self.cut_everywhere(check, step=160_001, tcp=True, http=True)
        self.cut_everywhere(check, step=160_001, tcp=True)  # the arguments by HTTP, for they are large


class Tunnels(unittest.TestCase):
    def test_an_answer_larger_than_a_request_carries(self):
        """Each request is cut after 300 KB; the answer has 2 MB."""
        array = np.arange(500_000, dtype="float32")
        with Front(Service(make=lambda call: array), tcp=True, hand_over=False) as front, Client(front.file, patience=30) as client:
            front.cut_after = 400_000
            self.assertTrue(np.array_equal(client.call("make"), array))
            self.assertEqual(len(front.worker.begun), 1)

    def test_arguments_larger_than_a_request_carries(self):
        array = np.arange(500_000, dtype="float32")
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file, patience=30) as client:
            front.cut_body = 300_000
            self.assertTrue(np.array_equal(client.call("echo", (array,)), array))
            self.assertEqual(len(front.worker.begun), 1)

    def test_a_gateway_that_lost_the_call(self):
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file) as client:
            for status in (502, 404, 524):
                front.answers += [(status, {}), (status, {})]
                self.assertEqual(client.call("sleep", (0,)), 0)
            self.assertEqual(len(front.worker.begun), 3)
            front.answers.append((403, {}))
            with self.assertRaisesRegex(Unreachable, "something before it refused the request with HTTP status 403"):
                client.call("echo", (1,))

    def test_a_cancellation_that_is_lost(self):
        """It is said again, for the call would go on for minutes."""
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file) as client:
            call = client.submit("sleep", (600,))
            front.answers += [(502, {}), (404, {})]
            client.cancel(call.id)
            self.assertEqual(front.requests[1:], ["DELETE /v1/services/tools/calls/" + call.id] * 3)
            with self.assertRaises(Cancelled):
                call.result()
            front.write_file(endpoint="http://127.0.0.1:1")
            with unittest.mock.patch("client.CANCEL_SECONDS", 0.2):
                client.cancel(call.id)  # nobody hears it, and that is no error

    def test_many_requests_for_one_answer(self):
        often = unittest.mock.patch("client.WAIT_SECONDS", 0.05)
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file) as client, often:
            front.worker.functions["many"] = lambda call: eventually(lambda: len(front.requests) > 4, "more requests for the answer")
            self.assertIsNone(client.call("many"))
            self.assertEqual(len(front.worker.begun), 1)

    def test_patience_counts_from_the_last_sign_of_a_call(self):
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file, patience=60) as client, \
                unittest.mock.patch("client.WAIT_SECONDS", 0.05), options() as same:
            call = client.prepare("sleep", (0.5,), {}, same)
            call.heard -= 1000  # nothing but signs has come since
            call.begin()
            front.answers += [(502, {})] * 6
            self.assertEqual(call.value(), 0.5)

    def test_a_tunnel_that_does_not_get_through_any_more(self):
        with Front(service(), tcp=True, hand_over=False) as front, Client(front.file, patience=0.3) as client:
            client.call("echo", (1,))
            front.answers += [(502, {})] * 50
            with self.assertRaisesRegex(Interrupted, "HTTP status 502"):
                client.call("echo", (1,))
            front.write_file(endpoint="http://127.0.0.1:1")
            client.close()
            front.answers.clear()
            with self.assertRaisesRegex(Unreachable, "refused"):
                client.call("echo", (1,))


class Carried(unittest.TestCase):
    """Behind a port of this computer that a process carries on, calls go to the worker itself."""

    def test_a_connection_to_the_worker(self):
        with Front(service(), tcp=True) as front, Client(front.file) as client:
            for n in range(3):
                self.assertEqual(client.call("echo", (n,)), n)
            self.assertEqual(front.requests, ["GET /v1/services/tools/connect"])
            self.assertEqual(client.submit("echo", (4,)).result(), 4)
            self.assertEqual(len(client.call("echo", ("x" * (2 << 20),))), 2 << 20)
            self.assertGreater(len([r for r in front.requests if "/arguments/" in r]), 1)

    def test_a_cut_call_goes_on_by_http(self):
        """So that the rest of a large answer comes, and not all of it again."""
        array = np.arange(500_000, dtype="float32")
        with Front(Service(make=lambda call: array), tcp=True) as front, Client(front.file, patience=30) as client:
            cutter = Cutter(front)
            cutter.limits = [(None, 300_000)]
            front.cut_after = 400_000
            self.assertTrue(np.array_equal(client.call("make"), array))
            self.assertEqual(len(front.worker.begun), 1)
            self.assertIn("call/make", front.requests[1])
            self.assertTrue(all("/calls/" in request for request in front.requests[2:]), front.requests)

    def test_a_network_that_is_gone_without_a_word(self):
        with Front(service(), tcp=True) as front, Client(front.file, patience=30) as client, \
                unittest.mock.patch("client.SILENT_SECONDS", 0.1):
            def silent(call):
                eventually(lambda: [h["t"] for h in front.worker.headers].count("calls") > 2, "the client to ask, and to ask again")

            front.worker.functions["silent"] = silent
            with unittest.mock.patch("client.ANSWER_SECONDS", 60):
                self.assertIsNone(client.call("silent"))
            self.assertEqual(len(front.requests), 1)
            client.close()

            def mute(sock):
                front.on_connection = lambda sock: False
                sock.recv(65536)
                sock.sendall(HELLO)
                return True

            front.on_connection = mute
            with unittest.mock.patch("client.ANSWER_SECONDS", 0.3):
                self.assertEqual(client.call("echo", (1,)), 1)
            self.assertIn("call/echo", front.requests[-1])

    def test_a_tunnel_that_answers_by_itself(self):
        with Front(service(), tcp=True) as front, Client(front.file) as client:
            front.answers.append((403, {}))
            self.assertEqual(client.call("echo", (1,)), 1)
            self.assertIn("call/echo", front.requests[-1])


class Ends(unittest.TestCase):
    def test_no_connection_file(self):
        with self.assertRaisesRegex(Unreachable, "nothing.json cannot be read: No such file.*serve the interface again"):
            once("/tmp/seer-there-is/nothing.json", "f")

    def test_connection_files_that_are_none(self):
        with Front(None) as front:
            for text in ("", "[]", "{", '{"version":1}', '{"version":1,"sandbox":1,"service":"s","endpoint":"unix:/x","token":"t"}',
                         '{"version":1,"sandbox":"a","service":"s","endpoint":"ftp://x","token":"t"}'):
                front.file.write_text(text)
                with self.subTest(text), self.assertRaisesRegex(Unreachable, "not a connection file"):
                    once(front.file, "f")
            front.write_file(version=2)
            with self.assertRaisesRegex(Unreachable, "has version 2"):
                once(front.file, "f")

    def test_nobody_there(self):
        with Front(None) as front:
            for endpoint in ("unix:%s/nothing" % front.folder, "http://127.0.0.1:1", "https://127.0.0.1:1"):
                front.write_file(endpoint=endpoint)
                with self.subTest(endpoint), unittest.mock.patch("client.FIRST_SECONDS", 0.2), \
                        self.assertRaisesRegex(Unreachable, "service tools of sandbox sb-1.*still runs"):
                    once(front.file, "f")
            self.assertTrue(issubclass(Unreachable, ConnectionError))

    def test_a_socket_that_has_no_room_is_not_one_where_nobody_is(self):
        """As that of a machine which is suspended: a call that has begun waits long for it."""
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(folder + "/s")
            listener.listen(0)
            waiting = []
            with self.assertRaises(Cut):
                while len(waiting) < 100:
                    waiting.append(dial(Info("sb-1", "tools", "unix:%s/s" % folder, "token")))
            self.assertGreater(len(waiting), 0)
            for sock in waiting:
                sock.close()

    def test_a_wrong_token_and_a_service_that_is_gone(self):
        for changes, reason in (({"token": "wrong"}, "token is not accepted"), ({"service": "gone"}, "no such service")):
            for hand_over in (True, False):
                with self.subTest(changes), Front(service(), hand_over=hand_over) as front:
                    front.write_file(**changes)
                    with self.assertRaisesRegex(Unreachable, reason):
                        once(front.file, "echo", (1,))
                    with self.assertRaisesRegex(Unreachable, reason):
                        Client(front.file).submit("echo", (1,))

    def test_a_service_that_is_being_started_again_is_waited_for(self):
        busy = (503, {"error": {"code": "unavailable", "message": "starting"}})
        for hand_over in (True, False):
            with self.subTest(hand_over), Front(service(), hand_over=hand_over) as front, Client(front.file) as client:
                front.answers += [busy, busy] if hand_over else [(426, {}), busy, busy]
                self.assertEqual(client.call("echo", (1,)), 1)

    def test_a_worker_that_dies_in_the_middle(self):
        for way in ({}, {"tcp": True}):
            with self.subTest(way), Front(service(), **way) as front, Client(front.file) as client:
                client.call("echo", (1,))

                def die(front=front):
                    eventually(lambda: len(front.worker.begun) == 2, "the call")
                    front.worker.dead = True
                    front.worker.forget()
                    front.worker.cut()

                killer = threading.Thread(target=die)
                killer.start()
                with self.assertRaisesRegex(Interrupted, "it is started again"):
                    client.call("sleep", (5,))
                killer.join(120)
                self.assertEqual(len(front.worker.begun), 2)

    def test_a_call_that_is_given_up_while_its_connection_is_made_again_is_cancelled(self):
        with Front(service()) as front, Client(front.file) as client, options() as same:
            call = client.prepare("sleep", (600,), {}, same)
            call.begin()
            eventually(lambda: front.worker.begun, "the call")
            connect = client.connect

            def given_up_meanwhile(*where):
                link = connect(*where)
                call.wake()
                return link

            front.worker.cut()
            with unittest.mock.patch.object(client, "connect", given_up_meanwhile), self.assertRaises(Aborted):
                call.event()
            self.assertEqual(front.requests[-1], "DELETE /v1/services/tools/calls/" + call.id)

    def test_a_worker_that_was_replaced_while_idle(self):
        with Front(service()) as front, Client(front.file) as client:
            client.call("echo", (1,))
            front.worker.cut()
            front.worker = service()
            self.assertEqual(client.call("echo", (2,)), 2)
            self.assertEqual(len(front.worker.begun), 1)

    def test_an_end_counts_whatever_its_number_is(self):
        """An error that the worker does not keep has none."""
        for number in ({}, {"n": 6}, {"n": "7"}):
            for kind in ("error", "result"):
                header = {"t": kind, "id": "attached-1", "error": {}, **number}
                events = [Event("output", {"id": "attached-1", "n": 6}, b""), Event(kind, header, b"1")]
                call = Call(unittest.mock.Mock(), "f", "attached-1", Options(output=False))
                call.attach, call.next, call.link = True, 5, unittest.mock.Mock()
                call.link.event.side_effect = [*events, AssertionError("it waits for more")]
                with self.subTest(header):
                    self.assertIs(call.event(), events[1])

    def test_an_answer_that_never_comes_is_given_up(self):
        def front_that_swallows(sock):
            sock.recv(65536)
            sock.sendall(HELLO)
            return True

        with Front(None) as front, unittest.mock.patch("client.GRACE_SECONDS", 0.2):
            front.on_connection = front_that_swallows
            with self.assertRaisesRegex(CallTimeout, "did not react"):
                once(front.file, "f", timeout=0.1)

    def test_answers_that_break_the_protocol(self):
        def frame(header, body=b""):
            return struct.pack("<IQ", len(header), len(body)) + header + body

        for said in (b"", b"\xff" * 100, frame(b"[]"), frame(b"{"), frame(b'{"t":1}'), frame(b'{"t":"result","id":"ID","tagged":true}',
            b"\0SV1xxxx"),
                     frame(b'{"t":"result","id":"ID"}', b"NaN"), frame(b'{"t":"error","id":"ID"}'),
                         frame(b'{"t":"error","id":"ID","error":7}'),
                     frame(b'{"t":"result","id":"ID","tagged":true}', b"\0SV1" + b"\xff" * 200_000)):
            def worker(sock, said=said):
                sock.recv(65536)
                sock.sendall(HELLO)
                head, _ = Frames(sock).read()
                name = head["id"].encode()
                data = said.replace(b"ID", name)
                if said[:4] != b"\xff\xff\xff\xff" and said:
                    data = struct.pack("<I", struct.unpack("<I", said[:4])[0] + (len(name) - 2) * said.count(b"ID")) + data[4:]
                sock.sendall(data)
                sock.close()
                return True

            with self.subTest(said[:60]), Front(None) as front, Client(front.file, patience=0.3) as client:
                front.on_connection = worker
                with self.assertRaises(SeerError):
                    client.call("f")

    def test_fronts_that_do_not_speak_http(self):
        for said in (b"", b"hello\r\n\r\n", b"HTTP/1.1 x\r\n\r\n", b"HTTP/1.1 500 -\r\nContent-Length: 9999\r\n\r\n{", b"\xff" * 2_000_000):
            def worker(sock, said=said):
                sock.recv(65536)
                try:
                    sock.sendall(said)
                except OSError:
                    pass
                sock.close()
                return True

            with self.subTest(said[:20]), Front(None) as front:
                front.on_connection = worker
                with unittest.mock.patch("client.RETRY_SECONDS", 0.5), self.assertRaises(Unreachable):
                    once(front.file, "f")

    def test_a_moved_sandbox_needs_no_new_client(self):
        with Front(service()) as one, Front(service(), tcp=True) as two, Client(one.file) as client:
            client.call("echo", (1,))
            client.close()
            one.file.write_bytes(two.file.read_bytes())
            client.call("echo", (1,))
            client.call("echo", (2,))
            self.assertEqual(two.accepted, 1)

    def test_a_socket_whose_path_is_too_long(self):
        with Front(service(), depth=4) as front, Client(front.file) as client:
            self.assertGreater(len(front.endpoint), 160)
            self.assertEqual(client.call("echo", (1,)), 1)

    def test_a_client_that_is_killed_leaves_its_call_to_the_sandbox(self):
        code = "import sys; sys.path.insert(0, %r)\nfrom client import Client\nClient(%r).call('sleep', (1,))"
        with Front(service()) as front:
            caller = subprocess.Popen([sys.executable, "-c", code % (str(bundle.FOLDER), str(front.file))])
            eventually(lambda: front.worker.begun, "the call")
            caller.kill()
            caller.wait()
            with Client(front.file) as client:
                self.assertEqual(client.attach(front.worker.begun[0]).result(20), 1)

    def test_a_thousand_calls_with_cuts_at_random(self):
        """None is lost, and none runs twice."""
        with Front(service()) as front:
            done, stop = [], threading.Event()

            def work(number):
                with Client(front.file) as client:
                    done.extend(client.call("echo", ("%d-%d" % (number, i),)) for i in range(100))

            threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
            for thread in threads:
                thread.start()

            def cut():
                while not stop.wait(0.02):
                    front.worker.cut()

            cutter = threading.Thread(target=cut)
            cutter.start()
            for thread in threads:
                thread.join(120)
            stop.set()
            cutter.join(120)
            self.assertEqual(sorted(done), sorted("%d-%d" % (n, i) for n in range(10) for i in range(100)))
            self.assertEqual(len(front.worker.begun), len(set(front.worker.begun)))
            self.assertEqual(len(front.worker.begun), 1000)



if __name__ == "__main__":
    unittest.main()
