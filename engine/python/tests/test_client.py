"""The client by every way of calling, against a fake that keeps what the protocol promises."""

import concurrent.futures
import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest
import unittest.mock

import bundle
import numpy as np
from client import (
    BadArguments,
    CallError,
    CallTimeout,
    Cancelled,
    Client,
    Handle,
    HandleGone,
    Interrupted,
    PendingCall,
    Refused,
    UnknownCall,
    options,
)
from fake_worker import Failed, Service
from fakes import Front
from harness import eventually

FOLDER = str(bundle.FOLDER)


def echo(call, value):
    return value


def add(call, a, b=2, *more, c=3, **options):
    return [a, b, list(more), c, options]


def fails(call, kind):
    raise {"ValueError": ValueError("no good"), "KeyError": KeyError("k"), "OSError": FileNotFoundError(2, "gone"), "mine": Mine("own"),
           "StopIteration": LookupError("l"), "unicode": UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")}[kind]


def errs(call, code):
    raise Failed({"code": code, "message": "says the sandbox"})


class Mine(Exception):
    pass


def sleep(call, seconds):
    call.sleep(seconds)
    return seconds


def count(call, n, pause=0.0):
    for i in range(n):
        call.print("item %d\n" % i)
        yield i
        call.sleep(pause)


def talk(call, text, stream=1):
    call.print(text, stream)
    call.sleep(0.05)
    call.print("!", stream)
    return len(text)


def ones(call, n):
    return np.ones(n, "float32")


def service():
    found = Service(echo=echo, add=add, fails=fails, errs=errs, sleep=sleep, count=count, talk=talk, ones=ones)
    found.functions["$handle.get"] = lambda call, name, *steps: _steps(found, name, steps)
    found.functions["$handle.make"] = found.functions["$handle.get"]
    found.functions["$handle.release"] = lambda call, *names: sum(found.handles.pop(n, None) is not None for n in names)
    return found


def _steps(found, name, steps):
    if name not in found.handles:
        raise Failed({"code": "handle_gone", "message": "the handle %s was released" % name})
    value = found.handles[name]
    for kind, *how in steps:
        if kind == "index":
            key = how[0]
            value = value[slice(*key["slice"]) if isinstance(key, dict) else key]
        else:
            value = getattr(value, how[0])(**how[1])
    return value


class Ways(unittest.TestCase):
    """What holds for each way of reaching the worker."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.service = service()
        cls.front = Front(cls.service, **cls.options)
        cls.front.__enter__()
        cls.addClassCleanup(cls.front.__exit__)
        cls.addClassCleanup(cls.service.cut)

    def setUp(self):
        self.client = Client(self.front.file)
        self.addCleanup(self.client.close)

    def test_a_call(self):
        self.assertEqual(self.client.call("add", (1,)), [1, 2, [], 3, {}])
        self.assertEqual(self.client.call("add", (1, 2, 3, 4), {"c": 5, "x": "é"}), [1, 2, [3, 4], 5, {"x": "é"}])

    def test_the_connection_is_kept_and_answers_are_acknowledged(self):
        self.client.call("echo", (0,))
        before = self.front.accepted
        for i in range(20):
            self.assertEqual(self.client.call("echo", (i,)), i)
        self.assertEqual(self.front.accepted, before)
        mine = [c for c in list(self.service.calls.values()) if c.id.startswith(self.client._prefix)]
        eventually(lambda: all(c.acked for c in mine[:-1]), "acknowledgements")

    def test_values(self):
        for value in (None, "ä\u2028\ud800", [1.5, {"$seer": 1}], float("inf"), 2 ** 70, "x" * 3_000_000, b"\0\xff", {(1, 2): "a"}, 1j):
            self.assertEqual(self.client.call("echo", (value,)), value)
        nan = self.client.call("echo", (float("nan"),))
        self.assertNotEqual(nan, nan)
        self.assertEqual(self.client.call("echo", ((1, {2}),)), [1, [2]])

    def test_arrays_both_ways(self):
        for array in (np.arange(3_000_000, dtype="int16"), np.zeros((0, 3)), np.eye(5)[::2, ::-1], np.array([True, False])):
            back = self.client.call("echo", ({"a": [array]},))["a"][0]
            self.assertEqual((back.dtype, back.shape), (array.dtype, array.shape))
            self.assertTrue(np.array_equal(back, array))

    def test_arguments_that_cannot_be_sent(self):
        loop = []
        loop.append(loop)
        for args, kwargs, reason in (
            ((1, object()), {}, "the argument number 2 of echo cannot be sent: it is an object"), ((), {"key": [object()]},
                        "argument key of echo"),
            (({"a": {"b": [object]}},), {}, r'cannot be sent: it\["a"\]\["b"\]\[0\] is a type'), ((loop,), {}, "number 1"),
        ):
            with self.assertRaisesRegex(BadArguments, reason):
                self.client.call("echo", args, kwargs)

    def test_errors_are_those_of_the_sandbox(self):
        builtins = {"ValueError": ValueError, "KeyError": KeyError, "OSError": FileNotFoundError, "unicode": UnicodeDecodeError}
        for kind, base in builtins.items():
            with self.subTest(kind), self.assertRaises(base) as caught:
                self.client.call("fails", (kind,))
            self.assertIsInstance(caught.exception, CallError)
            self.assertEqual((caught.exception.code, caught.exception.remote_type), ("raised", base.__name__))
        with self.assertRaisesRegex(CallError, "^Mine: own$"):
            self.client.call("fails", ("mine",))
        for code, kinds in {"refused": (Refused, PermissionError), "handle_gone": (HandleGone, LookupError),
                    "bad_arguments": (BadArguments, TypeError),
                            "timeout": (CallTimeout, TimeoutError), "interrupted": (Interrupted,), "cancelled": (Cancelled,),
                            "exited": (CallError,)}.items():
            with self.subTest(code), self.assertRaisesRegex(kinds[0], "^says the sandbox$") as caught:
                self.client.call("errs", (code,))
            for kind in kinds:
                self.assertIsInstance(caught.exception, kind)

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
        with options(timeout=30):
            self.assertEqual(self.client.call("echo", (1,)), 1)
        for bad in (0, -1):
            with self.assertRaises(ValueError):
                self.client.call("echo", (1,), timeout=bad)

    def test_the_time_in_the_queue_does_not_count(self):
        go, later = threading.Event(), [0]  # seconds that have passed for the client
        self.addCleanup(go.set)
        self.service.functions["hold"] = lambda call: go.wait(120)
        clock = unittest.mock.Mock(wraps=time, monotonic=lambda: time.monotonic() + later[0])
        with concurrent.futures.ThreadPoolExecutor(2) as pool, unittest.mock.patch("client.time", clock), options(timeout=600) as same:
            first = pool.submit(self.client.call, "hold")
            eventually(lambda: any(c.fn == "hold" and c.state == "running" for c in list(self.service.calls.values())), "the first call")
            call = self.client.prepare("echo", (1,), {}, same)
            second = pool.submit(call.value)
            for _ in range(4):
                now = clock.monotonic()
                eventually(lambda now=now: second.done() or call.queued and call.heard > now, "news from the queue")
                later[0] += 500
            go.set()
            self.assertEqual((second.result(120), first.result(120)), (1, True))

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
        code = ("import signal, sys; sys.path.insert(0, %r)\nfrom client import Client\nc = Client(%r)\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # where the tests run in the background, it is ignored
                "try:\n c.call('sleep', (60,))\nexcept KeyboardInterrupt:\n print('interrupted')\n" % (FOLDER, str(self.front.file)))
        caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        running = []
        eventually(lambda: running or running.extend(
            c for c in list(self.service.calls.values()) if c.fn == "sleep" and c.state == "running"), "it")
        caller.send_signal(signal.SIGINT)
        self.assertEqual(caller.communicate(timeout=120)[0], "interrupted\n")
        eventually(lambda: running[0].state == "timeout" or running[0].state == "cancelled", "the cancellation")

    def test_what_is_printed_appears_here(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(self.client.call("talk", ("tä",)), 2)
            self.assertEqual(self.client.call("talk", ("no", 2)), 2)
            with options(output=False):
                self.client.call("talk", ("silent",))
        self.assertEqual((out.getvalue(), err.getvalue()), ("tä!", "no!"))
        heard = []
        with options(output=lambda stream, text: heard.append((stream, text))):
            self.client.call("talk", ("a", 2))
        self.assertEqual(heard, [(2, "a"), (2, "!")])

    def test_a_stdout_that_cannot_take_it_is_no_reason_to_fail(self):
        for broken in (None, io.TextIOWrapper(io.BytesIO(), "ascii"), open(os.devnull)):
            with contextlib.redirect_stdout(broken):
                self.assertEqual(self.client.call("talk", ("tä",)), 2)
            if broken is not None:
                broken.close()

    def test_a_stream(self):
        with options(output=False):
            self.assertEqual(list(self.client.stream("count", (5,))), [0, 1, 2, 3, 4])
            seen, got = threading.Semaphore(0), []

            def steps(call):
                for i in range(3):
                    yield i
                    if not seen.acquire(timeout=120):
                        raise TimeoutError("the item %d has not arrived" % i)

            self.service.functions["steps"] = steps
            for i in self.client.stream("steps"):
                got.append(i)
                seen.release()
            self.assertEqual(got, [0, 1, 2])

    def test_closing_a_stream_cancels_it(self):
        for end in (lambda s: s.close(), lambda s: None):
            with options(output=False):
                stream = self.client.stream("count", (2, 600))
            self.assertEqual(next(stream), 0)
            call = self.service.calls[stream.id]
            end(stream)
            self.assertEqual(list(stream) if stream._over else [], [])
            del stream
            eventually(lambda call=call: call.state == "cancelled", "the cancellation")

    def test_a_stream_that_fails_in_the_middle(self):
        def bad(call):
            yield 1
            raise ValueError("in the middle")
        self.service.functions["bad"] = bad
        stream = self.client.stream("bad")
        self.assertEqual(next(stream), 1)
        with self.assertRaisesRegex(ValueError, "in the middle"):
            next(stream)
        self.assertEqual(list(stream), [])

    def test_a_call_to_come_back_to(self):
        go = threading.Event()
        self.addCleanup(go.set)
        self.service.functions["hold"] = lambda call: go.wait(120)
        pending = self.client.submit("hold")
        self.assertIn(pending.state(), ("queued", "running"))
        self.assertFalse(pending.done())
        with self.assertRaisesRegex(TimeoutError, "has not ended yet; it goes on"):
            pending.result(0.05)
        again = pickle.loads(pickle.dumps(pending))
        go.set()
        self.assertIs(pending.result(120), True)
        self.assertEqual(pending.state(), "done")
        self.assertEqual((again.id, again.result(), self.client.attach(pending.id).result()), (pending.id, True, True))
        self.assertIn(pending.id, [c["id"] for c in self.client.calls()])

    def test_another_process_comes_back_to_it(self):
        code = "import sys; sys.path.insert(0, %r)\nfrom client import Client\nprint(Client(%r).submit('sleep', (0.3,)).id)"
        call_id = subprocess.check_output([sys.executable, "-c", code % (FOLDER, str(self.front.file))], text=True, timeout=30).strip()
        self.assertEqual(self.client.attach(call_id).result(30), 0.3)
        self.assertEqual(self.service.begun.count(call_id), 1)

    def test_a_submitted_call_that_fails_or_is_cancelled_or_unknown(self):
        with self.assertRaises(KeyError):
            self.client.submit("fails", ("KeyError",)).result()
        with self.assertRaises(CallError):
            self.client.submit("no_such_function").result()
        pending = self.client.submit("sleep", (60,))
        pending.cancel()
        with self.assertRaises(Cancelled):
            pending.result(30)
        for ask in (PendingCall.result, PendingCall.state):
            with self.assertRaises(UnknownCall):
                ask(self.client.attach("nobody-has-made-1"))

    def test_what_cannot_be_a_name(self):
        for name in ("a b/../c", "short", "x" * 101, "ümlauts-in-it", 3, None):
            with self.subTest(name), self.assertRaisesRegex(UnknownCall, "is not the name of a call"):
                self.client.attach(name)

    def test_a_submitted_generator(self):
        with options(output=False):
            pending = self.client.submit("count", (4,))
            self.assertEqual(list(pending), [0, 1, 2, 3])
            self.assertEqual(pending.result(), [0, 1, 2, 3])

    def test_handles(self):
        handle = self.client.handle("ones", (100_000,))
        self.assertIsInstance(handle, Handle)
        self.assertEqual((handle.shape, handle.dtype, len(handle), bool(handle), handle.stats), ((100_000,), "float32", 100_000, True,
                    {"mean": 1}))
        self.assertRegex(repr(handle), r"<Handle h-\d+: ndarray, shape=\[100000\], dtype=float32, bytes=\d+, mean=1>\narray")
        self.assertEqual((handle[3], handle.sum(), handle[2:4].tolist()), (1, 100_000, [1, 1]))
        self.assertIsInstance(handle[:50_000], Handle)
        self.assertIsInstance(handle.handle(["reduce", "sum", {}]), Handle)
        self.assertEqual(self.client.call("echo", ([handle],))[0].shape, (100_000,))
        again = pickle.loads(pickle.dumps(handle))
        self.assertTrue(np.array_equal(again.fetch(), np.ones(100_000)))
        with self.assertRaisesRegex(TypeError, "fetch"):
            np.asarray(handle)
        with handle:
            pass
        self.assertFalse(handle.release())
        with self.assertRaisesRegex(HandleGone, "was released"):
            handle.fetch()
        with options(handles_above=1000):
            self.assertIsInstance(self.client.call("ones", (1000,)), Handle)
            self.assertEqual(len(self.client.call("ones", (10,))), 10)

    def test_options_are_of_a_thread(self):
        heard = []
        with options(output=lambda stream, text: heard.append(text)):
            other = threading.Thread(target=self.client.call, args=("talk", ("",)))
            other.start()
            other.join(120)
            with options(timeout=20):
                self.client.call("talk", ("mine",))
        self.assertEqual("".join(heard), "mine!")
        for wrong in ({"timeout": 0}, {"handles_above": -1}, {"tensors": "jax"}):
            with self.assertRaises(ValueError):
                options(**wrong)
        with self.assertRaisesRegex(TypeError, "there is no option patience"):
            options(patience=1)


class OverTCP(Ways):
    options = {"tcp": True}


class OverPost(Ways):
    options = {"hand_over": False}


# So that no test depends on a proxy of the machine.
os.environ["no_proxy"] = "*"

if __name__ == "__main__":
    unittest.main()
