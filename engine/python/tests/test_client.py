"""client.py against a real worker, by both ways of calling it, and against fronts that misbehave."""

import concurrent.futures
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import threading
import traceback
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROTOCOL = HERE.parents[2] / "protocol"
sys.path.insert(0, str(PROTOCOL))

from client import (  # noqa: E402
    BadArguments,
    CallError,
    CallTimeout,
    Client,
    Interrupted,
    SeerError,
    Unreachable,
)
from harness import eventually, serve  # noqa: E402
from standin import Front  # noqa: E402

CODE = '''
import os, time
calls = []

@expose
def echo(value): return value

@expose
def add(a, b=2, *more, c=3, **options): return [a, b, list(more), c, options]

@expose
def fails(kind):
    raise {"ValueError": ValueError("no good"), "KeyError": KeyError("k"), "OSError": OSError(2, "gone"), "mine": Mine("own"),
           "StopIteration": StopIteration(1), "unicode": UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), "exit": SystemExit(2)}[kind]

class Mine(Exception): pass

@expose
def sleep(seconds):
    calls.append(seconds)
    time.sleep(seconds)
    return seconds

@expose
def count(): return len(calls)

@expose
def die(): os.kill(os.getpid(), 9)

@expose
def tensor(): return {"a": [b"x"]}

@expose
def nan(): return float("nan")
'''


class Ways(unittest.TestCase):
    """What holds for each way of reaching the worker."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.worker = serve(CODE)
        cls.worker.__enter__()
        cls.front = Front(cls.worker, **cls.options)
        cls.front.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.front.__exit__()
        cls.worker.__exit__()

    def setUp(self):
        self.client = Client(self.front.file)
        self.addCleanup(self.client.close)

    def test_a_call(self):
        self.assertEqual(self.client.call("add", (1,)), [1, 2, [], 3, {}])
        self.assertEqual(self.client.call("add", (1, 2, 3, 4), {"c": 5, "x": "é"}), [1, 2, [3, 4], 5, {"x": "é"}])

    def test_the_connection_is_kept(self):
        self.client.call("echo", (0,))
        before = self.front.accepted
        for i in range(20):
            self.assertEqual(self.client.call("echo", (i,)), i)
        self.assertEqual(self.front.accepted, before)

    def test_values(self):
        for value in (None, "ä\u2028\ud800", [1.5, {"$seer": 1}], float("inf"), 2 ** 70, "x" * 3_000_000):
            self.assertEqual(self.client.call("echo", (value,)), value)
        nan = self.client.call("nan")
        self.assertNotEqual(nan, nan)
        self.assertEqual(self.client.call("echo", ((1, {2}),)), [1, [2]])

    def test_arguments_that_cannot_be_sent(self):
        loop = []
        loop.append(loop)
        for args, kwargs, reason in (
            ((1, b"x"), {}, "the argument number 2 of echo cannot be sent: it is or contains a bytes; send lists, dicts"),
            ((), {"key": [object()]}, "the argument key of echo"), (({(1, 2): 3},), {}, "keys must be"), ((loop,), {}, "number 1"),
        ):
            with self.assertRaises(BadArguments) as caught:
                self.client.call("echo", args, kwargs)
            self.assertIn(reason, str(caught.exception))

    def test_errors_are_those_of_the_sandbox(self):
        builtins = {"ValueError": ValueError, "KeyError": KeyError, "OSError": FileNotFoundError, "unicode": UnicodeDecodeError}
        for kind, base in builtins.items():
            with self.subTest(kind), self.assertRaises(base) as caught:
                self.client.call("fails", (kind,))
            self.assertIsInstance(caught.exception, CallError)
            self.assertEqual((caught.exception.code, caught.exception.remote_type), ("raised", base.__name__))
        with self.assertRaises(CallError) as caught:
            self.client.call("fails", ("mine",))
        self.assertEqual(str(caught.exception), "interface.Mine: own")
        with self.assertRaises(CallError) as caught:
            self.client.call("fails", ("StopIteration",))
        self.assertNotIsInstance(caught.exception, StopIteration)
        with self.assertRaises(CallError) as caught:
            self.client.call("fails", ("exit",))
        self.assertEqual(caught.exception.code, "exited")
        with self.assertRaises(CallError) as caught:
            self.client.call("nothing")
        self.assertEqual(caught.exception.code, "unknown_function")
        with self.assertRaises(CallError) as caught:
            self.client.call("tensor")
        self.assertEqual(caught.exception.code, "unserialisable")
        with self.assertRaises(TypeError) as caught:
            self.client.call("echo", (1, 2))
        self.assertIsInstance(caught.exception, BadArguments)

    def test_an_error_shows_both_tracebacks_and_can_be_pickled(self):
        try:
            self.client.call("fails", ("ValueError",))
        except ValueError as e:
            text = traceback.format_exc()
            again = pickle.loads(pickle.dumps(e))
        self.assertIn('File "interface.py", line', text)
        self.assertIn("RemoteValueError: no good", text)
        self.assertEqual((str(again), again.remote_type, again.remote_traceback != ""), ("no good", "ValueError", True))

    def test_timeout(self):
        with self.assertRaises(TimeoutError) as caught:
            self.client.call("sleep", (60,), timeout=0.1)
        self.assertIsInstance(caught.exception, CallTimeout)
        self.assertEqual(self.client.call("echo", (1,), timeout=30), 1)
        self.assertEqual(self.client.call("echo", (1,)), 1)
        for bad in (0, -1):
            with self.assertRaises(ValueError):
                self.client.call("echo", (1,), timeout=bad)

    def test_threads_share_it(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(lambda i: self.client.call("echo", (i,)), range(200))), list(range(200)))

    def test_a_forked_child_has_connections_of_its_own(self):
        self.client.call("echo", (1,))
        pid = os.fork()
        if pid == 0:
            os._exit(0 if [self.client.call("echo", (i,)) for i in range(20)] == list(range(20)) else 1)
        got = [self.client.call("echo", (-i,)) for i in range(20)]
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(got, [-i for i in range(20)])

    def test_ctrl_c_cancels_the_call(self):
        code = ("import sys; sys.path.insert(0, %r)\nfrom client import Client\nc = Client(%r)\nprint('go', flush=True)\n"
                "try:\n c.call('sleep', (60,))\nexcept KeyboardInterrupt:\n print('interrupted')\n" % (str(PROTOCOL), str(self.front.file)))
        begun = self.worker.counts()[0]
        caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        eventually(lambda: self.worker.counts()[0] > begun, "the call to begin")
        caller.send_signal(signal.SIGINT)
        self.assertEqual(caller.communicate(timeout=20)[0], "go\ninterrupted\n")
        self.assertEqual(self.client.call("echo", (1,)), 1)  # would wait for a minute if the call still ran


class OverTCP(Ways):
    options = {"tcp": True}


class OverPost(Ways):
    options = {"hand_over": False}


class LongPath(unittest.TestCase):
    def test_a_socket_whose_path_is_too_long(self):
        with serve(CODE) as worker, Front(worker, depth=4) as front, Client(front.file) as client:
            self.assertGreater(len(front.endpoint), 160)
            self.assertEqual(client.call("echo", (1,)), 1)


class GeneratedLibrary(unittest.TestCase):
    def test_as_the_docstring_says(self):
        source = ("from ._client import Client\n_client = Client.beside(__file__)\n"
                  "def add(a, b=2, *more, c=3, **options):\n"
                  "    return _client.call('add', (a, b, *more), {'c': c, **options})\n")
        with serve(CODE) as worker, Front(worker) as front:
            package = front.folder / "model_tools"
            package.mkdir()
            (package / "__init__.py").write_text(source)
            (package / "_client.py").write_bytes((PROTOCOL / "client.py").read_bytes())
            front.file.rename(package / "connection.json")
            code = "import model_tools\nprint(model_tools.add(1), model_tools.add(1, 5, 6, c=7, d=8))"
            out = subprocess.run([sys.executable, "-c", code], cwd=front.folder, env={**os.environ, "PYTHONPATH": str(front.folder)},
                                 stdout=subprocess.PIPE, text=True, timeout=30, check=True)
        self.assertEqual(out.stdout, "[1, 2, [], 3, {}] [1, 5, [6], 7, {'d': 8}]\n")


class Faults(unittest.TestCase):
    def test_no_connection_file(self):
        with self.assertRaisesRegex(Unreachable, "nothing.json cannot be read: No such file.*serve the interface again"):
            Client("/tmp/seer-there-is/nothing.json").call("f")

    def test_connection_files_that_are_none(self):
        with Front(None) as front:
            for text in ("", "[]", "{", '{"version":1}', '{"version":1,"sandbox":1,"service":"s","endpoint":"unix:/x","token":"t"}',
                         '{"version":1,"sandbox":"a","service":"s","endpoint":"ftp://x","token":"t"}'):
                front.file.write_text(text)
                with self.subTest(text), self.assertRaisesRegex(Unreachable, "not a connection file"):
                    Client(front.file).call("f")
            front.write_file(version=2)
            with self.assertRaisesRegex(Unreachable, "has version 2"):
                Client(front.file).call("f")

    def test_nobody_there(self):
        with Front(None) as front:
            for endpoint in ("unix:%s/nothing" % front.folder, "http://127.0.0.1:1", "https://127.0.0.1:1"):
                front.write_file(endpoint=endpoint)
                with self.subTest(endpoint), unittest.mock.patch("client._FIRST_SECONDS", 0.2), \
                        self.assertRaisesRegex(Unreachable, "service tools of sandbox sb-1.*seer ls"):
                    Client(front.file).call("f")
            self.assertTrue(issubclass(Unreachable, ConnectionError))

    def test_a_wrong_token_and_a_service_that_is_gone(self):
        for changes, reason in (({"token": "wrong"}, "token is not accepted"), ({"service": "gone"}, "no such service")):
            for hand_over in (True, False):
                with self.subTest(changes), serve(CODE) as worker, Front(worker, hand_over=hand_over) as front:
                    front.write_file(**changes)
                    with self.assertRaisesRegex(Unreachable, reason):
                        Client(front.file).call("echo", (1,))

    def test_a_service_that_is_being_started_again_is_waited_for(self):
        busy = (503, {"error": {"code": "unavailable", "message": "starting"}})
        for hand_over in (True, False):
            with self.subTest(hand_over), serve(CODE) as worker, Front(worker, hand_over=hand_over) as front, Client(front.file) as client:
                front.answers += [busy, busy] if hand_over else [(426, {}), busy, busy]
                self.assertEqual(client.call("echo", (1,)), 1)

    def test_a_worker_that_dies_in_the_middle(self):
        for hand_over in (True, False):
            with self.subTest(hand_over), serve(CODE) as worker, Front(worker, hand_over=hand_over) as front, Client(front.file) as client:
                client.call("echo", (1,))
                with self.assertRaises(Interrupted):
                    client.call("die")

    def test_a_worker_that_was_replaced_while_idle(self):
        with serve(CODE) as old, serve(CODE) as new, Front(old) as front, Client(front.file) as client:
            for i in range(3):
                client.call("sleep", (i / 1000,))
            front.worker = new
            old.tell({"t": "stop"})
            old.process.wait(20)
            self.assertEqual(client.call("count"), 0)

    def test_replaced_under_load_no_call_is_lost(self):
        """Calls run without a pause while their workers are replaced: none fails and none runs twice."""
        with serve(CODE) as first, Front(first) as front, Client(front.file) as client:
            done, stop, errors = [0], threading.Event(), []

            def work():
                try:
                    while not stop.is_set():
                        client.call("sleep", (0,))
                        done[0] += 1
                except SeerError as e:
                    errors.append(e)

            caller = threading.Thread(target=work)
            caller.start()
            ran = 0
            try:
                old = first
                for _ in range(4):
                    before = done[0]
                    eventually(lambda before=before: done[0] > before + 20 or errors, "calls")
                    new = serve(CODE)
                    new.__enter__()
                    self.addCleanup(new.__exit__)
                    front.worker, previous = new, old
                    previous.tell({"t": "stop"})
                    self.assertEqual(previous.process.wait(20), 0)
                    ran += previous.counts()[1]
                    old = new
            finally:
                stop.set()
                caller.join(20)
            ran += old.counts()[1]
            self.assertEqual((errors, ran), ([], done[0]))

    def test_an_answer_that_never_comes_is_given_up(self):
        def front_that_swallows(sock):
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            return True

        with Front(None) as front, unittest.mock.patch("client._GRACE_SECONDS", 0.2):
            front.on_connection = front_that_swallows
            with self.assertRaisesRegex(CallTimeout, "did not react"):
                Client(front.file).call("f", timeout=0.1)

    def test_an_answer_cut_at_every_byte_and_noise(self):
        header = b'{"t":"result","id":"%s"}'
        chance = random.Random(3)
        answer = {"next": lambda call_id: b""}

        def worker(sock):
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            data = sock.recv(65536)
            call_id = data[data.index(b'"id":"') + 6:].split(b'"')[0]
            sock.sendall(answer["next"](call_id))
            sock.close()
            return False

        def frame(call_id, body=b"[1,2,3]"):
            head = header % call_id
            return struct.pack("<IQ", len(head), len(body)) + head + body

        def noisy(call_id):
            data = bytearray(frame(call_id))
            for _ in range(3):
                data[chance.randrange(len(data))] = chance.getrandbits(8)
            return bytes(data)

        with Front(None) as front:
            front.on_connection = lambda sock: worker(sock) or True
            client = Client(front.file)
            answer["next"] = frame
            self.assertEqual(client.call("f"), [1, 2, 3])
            for cut in range(len(frame(b"x" * 18))):
                answer["next"] = lambda call_id, cut=cut: frame(call_id)[:cut]
                with self.assertRaises(Interrupted):
                    client.call("f")
            answer["next"] = noisy
            for _ in range(300):
                try:
                    client.call("f")
                except SeerError:
                    continue
            answer["next"] = lambda call_id: frame(b"another")
            with self.assertRaisesRegex(Interrupted, "breaks the protocol"):
                client.call("f")
            client.close()

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
                with unittest.mock.patch("client._RETRY_SECONDS", 0.5), self.assertRaises(Unreachable):
                    Client(front.file).call("f")

    def test_a_gateway_that_lost_the_call(self):
        """It is asked for again under its name, and runs once."""
        with serve(CODE) as worker, Front(worker, tcp=True) as front, Client(front.file) as client:
            for status in (502, 404, 524):
                front.answers += [(status, {}), (status, {})]
                self.assertEqual(client.call("sleep", (0,)), 0)
            self.assertEqual(client.call("count"), 3)
            front.answers.append((403, {}))
            with self.assertRaisesRegex(Unreachable, "something before it refused the request with HTTP status 403"):
                client.call("echo", (1,))

    def test_an_answer_that_is_cut_is_asked_for_again(self):
        with serve(CODE) as worker, Front(worker, tcp=True) as front, Client(front.file) as client:
            threading.Timer(0.2, front.cut).start()
            self.assertEqual(client.call("sleep", (0.6,)), 0.6)
            with unittest.mock.patch("client._WAIT_SECONDS", 0.05):  # many requests for one answer
                self.assertEqual(client.call("sleep", (0.5,)), 0.5)
            self.assertEqual(client.call("count"), 2)

    def test_a_tunnel_that_does_not_get_through_any_more(self):
        with serve(CODE) as worker, Front(worker, tcp=True) as front, Client(front.file, patience=0.3) as client:
            client.call("echo", (1,))
            front.answers += [(502, {})] * 50
            with self.assertRaisesRegex(Interrupted, "HTTP status 502"):
                client.call("echo", (1,))
            front.write_file(endpoint="http://127.0.0.1:1")
            client.close()
            front.answers.clear()
            with self.assertRaisesRegex(Unreachable, "refused"):
                client.call("echo", (1,))

    def test_a_sandbox_that_has_forgotten_the_call(self):
        with serve(CODE) as worker, Front(worker, tcp=True) as front, Client(front.file) as client:
            front.answers += [(202, {"id": "x"}), (404, {"error": {"code": "not_found", "message": "no such call"}})]
            with self.assertRaisesRegex(Interrupted, "started again"):
                client.call("echo", (1,))

    def test_a_moved_sandbox_needs_no_new_client(self):
        with serve(CODE) as worker, Front(worker) as one, Front(worker, tcp=True) as two, Client(one.file) as client:
            client.call("echo", (1,))
            client.close()
            one.file.write_bytes(two.file.read_bytes())
            client.call("echo", (1,))
            self.assertEqual(two.accepted, 1)


class Cost(unittest.TestCase):
    def test_importing_it_is_cheap_and_connects_to_nothing(self):
        code = ("import sys; sys.path.insert(0, %r); import client; client.Client.beside('/nowhere/x.py');"
                "print([m for m in ('http.client', 'ssl', 'asyncio', 'email', 'urllib.request') if m in sys.modules])" % str(PROTOCOL))
        self.assertEqual(subprocess.check_output([sys.executable, "-c", code], text=True, timeout=30), "[]\n")


# So that no test depends on a proxy of the machine.
os.environ["no_proxy"] = "*"

if __name__ == "__main__":
    unittest.main()
