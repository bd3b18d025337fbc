"""Calls: arguments, results, and everything that a function may do instead of returning one."""

import itertools
import json
import struct
import unittest

from harness import Failed, frame, serve, serve_class

_names = itertools.count()

CODE = '''
import asyncio, collections, dataclasses, enum, os, sys, threading

class Color(enum.Enum):
    RED = "red"

class MyError(Exception):
    pass

@dataclasses.dataclass
class Point:
    x: int
    y: "float"

class FakeTensor:
    shape = (2,)
    def tolist(self): return [1, 2]

FakeTensor.__module__, FakeTensor.__qualname__ = "torch", "Tensor"

@expose
def echo(value): return value

noted = []

@expose
def note(value):
    noted.append(value)
    return value

@expose
def all_noted(): return noted

@expose
def fit(a, /, b, *, c=3): return [a, b, c]

@expose
def fails(kind="ValueError"):
    inner(kind)

def inner(kind):
    raise {"ValueError": ValueError, "mine": MyError, "key": KeyError}[kind]("no good")

@expose
def type_error_inside(): return len(3)

@expose
def chained():
    try:
        inner("ValueError")
    except ValueError as e:
        raise RuntimeError("outer") from e

@expose
def deep(): return deep()

@expose
def leave(code=None): sys.exit(code)

@expose
def die(): os.kill(os.getpid(), 9)

@expose
def own_interrupt(): raise KeyboardInterrupt("mine")

@expose
def long_message(): raise ValueError("x" * 10_000_000)

@expose
def broken_message():
    class Odd(Exception):
        def __str__(self): raise RuntimeError("even this fails")
    raise Odd()

@expose
def common():
    return [(1, 2), {3, 1, 2}, frozenset(["a"]), Color.RED, Point(1, 2.5), collections.deque([1]), range(2), {"k": 1}.keys(),
            collections.OrderedDict(a=1), collections.Counter("aab"), {1: "int", None: "none", False: "bool", 2.5: "float"}]

@expose
def odd(which):
    loop = []
    loop.append(loop)
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return {
        "tensor": {"activations": [FakeTensor()], "layer": 1}, "generator": [(i for i in [1])], "cycle": {"a": loop},
        "huge": [10 ** 5000], "nested": nested, "function": echo,
    }[which]

@expose
def floats(): return [float("nan"), float("inf"), {"x": -float("inf")}]

@expose
def user_tag(): return {"$seer": {"float": "nan"}}

@expose
def surrogate(): return "\\ud800"

@expose
def large(n): return "x" * n

@expose
def secret(): return {"key": os.environ["API_KEY"], os.environ["API_KEY"]: ["a " + os.environ["API_KEY"] + ' "quoted"']}

@expose
def secret_error(): raise ValueError("bad key " + os.environ["API_KEY"])

LOCK = asyncio.Lock() if sys.version_info >= (3, 10) else None
task = None

@expose
async def wait_a_little():
    await asyncio.sleep(0.001)
    return "slept"

@expose
async def same_loop():
    global task
    if task is None:
        task = asyncio.get_running_loop()
    return task is asyncio.get_running_loop()

@expose
async def async_fails(): raise ValueError("async no")

@expose
def returns_coroutine(): return wait_a_little()

@expose
def is_main_thread(): return threading.current_thread() is threading.main_thread()

@expose
def fork_and_return():
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else os.waitpid(pid, 0)[1]

@expose
def start_thread():
    threading.Thread(target=threading.Event().wait).start()
'''


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worker = serve_class(cls, CODE, secrets={"API_KEY": 'hun"ter\\2ä'})

    def setUp(self):
        self.peer = self.worker.connect()

    def tearDown(self):
        started, finished = self.worker.counts()
        self.assertEqual(started, finished)

    def failure(self, fn, *args, **kwargs):
        with self.assertRaises(Failed) as caught:
            self.peer.call(fn, *args, **kwargs)
        self.assertEqual(self.peer.call("echo", "still there"), "still there")
        return caught.exception

    def test_arguments(self):
        self.assertEqual(self.peer.call("fit", 1, b=2), [1, 2, 3])
        self.assertEqual(self.peer.call("fit", 1, 2, c=None), [1, 2, None])

    def test_arguments_that_do_not_fit_are_named(self):
        for args, kwargs, reason in (
            ((), {}, "'a'"), ((1,), {}, "'b'"), ((1, 2, 3), {}, "too many positional"), ((1, 2), {"b": 3}, "'b'"),
            ((1, 2), {"z": 3}, "no parameter 'z'"), ((), {"a": 1, "b": 2}, "'a'"),
        ):
            with self.subTest(reason=reason, args=args):
                failure = self.failure("fit", *args, **kwargs)
                self.assertEqual(failure.code, "bad_arguments")
                self.assertIn(reason, failure.message)

    def test_arguments_that_cannot_be_read(self):
        deep = b'{"args":[' + b"[" * 200_000 + b"]" * 200_000 + b"]}"
        for body in (b"", b"[]", b"{", b'{"args":{}}', b'{"args":[NaN]}', b"\xff", deep, b'{"args":[],"timeout_seconds":"x"}',
                     b'{"args":[{"$seer":{"bytes":1}}],"tagged":true}'):
            with self.subTest(body[:40]):
                call_id = "unreadable-%d" % next(_names)
                self.peer.send({"t": "call", "id": call_id, "fn": "echo"}, body)
                with self.assertRaises(Failed) as caught:
                    self.peer.answer(call_id)
                self.assertEqual(caught.exception.code, "bad_arguments")

    def test_tagged_arguments(self):
        value = {"$seer": {"float": "inf"}}
        self.assertEqual(self.peer.call("echo", value), {"$seer": {"dict": value}})  # untagged, it is the user's own dict
        self.assertEqual(self.peer.call("echo", value, tagged=True), value)
        self.peer.send({"t": "call", "id": "tagged-in-body", "fn": "echo"}, json.dumps({"args": [value], "tagged": True}).encode())
        self.assertEqual(self.peer.answer("tagged-in-body"), value)

    def test_a_type_error_inside_is_not_blamed_on_the_caller(self):
        failure = self.failure("type_error_inside")
        self.assertEqual(failure.code, "raised")
        self.assertIn("return len(3)", failure.traceback)

    def test_raised(self):
        failure = self.failure("fails")
        self.assertEqual((failure.code, failure.type, failure.message), ("raised", "ValueError", "no good"))
        self.assertTrue(failure.traceback.startswith('Traceback (most recent call last):\n  File "interface.py", line '))
        self.assertIn("in fails\n    inner(kind)", failure.traceback)
        self.assertNotIn("seer_worker", failure.traceback)
        self.assertEqual(self.failure("fails", "mine").type, "interface.MyError")
        self.assertEqual(self.failure("fails", "key").message, "'no good'")
        self.assertIn("direct cause", self.failure("chained").traceback)

    def test_recursion(self):
        failure = self.failure("deep")
        self.assertEqual((failure.code, failure.type), ("raised", "RecursionError"))

    def test_unknown_function(self):
        failure = self.failure("inner")
        self.assertEqual(failure.code, "unknown_function")
        self.assertIn("exposed are: echo, note, all_noted, fit", failure.message)

    def test_exit(self):
        self.assertEqual(self.failure("leave", 3).message, "leave called exit(3); the service goes on")
        self.assertEqual(self.failure("leave").code, "exited")

    def test_a_keyboard_interrupt_of_its_own(self):
        failure = self.failure("own_interrupt")
        self.assertEqual((failure.code, failure.type), ("raised", "KeyboardInterrupt"))

    def test_messages_that_are_too_much(self):
        failure = self.failure("long_message")
        self.assertLess(len(failure.message), 40_000)
        self.assertIn("characters left out", failure.message)
        self.assertEqual(self.failure("broken_message").message, "(its message cannot be shown: RuntimeError)")

    def test_common_types(self):
        self.assertEqual(self.peer.call("common"), [
            [1, 2], [1, 2, 3], ["a"], "red", {"x": 1, "y": 2.5}, [1], [0, 1], ["k"], {"a": 1}, {"a": 2, "b": 1},
            {"1": "int", "null": "none", "false": "bool", "2.5": "float"}])

    def test_unserialisable(self):
        for which, message in (
            ("tensor", 'result["activations"][0] is a torch.Tensor, which cannot be sent; use .tolist()'),
            ("generator", "result[0] is a generator, which cannot be sent; use list(…)"),
            ("cycle", 'result["a"][0] contains itself, which cannot be sent'),
            ("huge", "result[0] is an int of 16610 bits, which is too large to be sent; use hex()"),
            ("nested", "result is nested too deeply to be sent"),
            ("function", "result is a function, which cannot be sent; return lists, dicts, strings, numbers, bytes and arrays"),
        ):
            with self.subTest(which):
                failure = self.failure("odd", which)
                self.assertEqual((failure.code, failure.message), ("unserialisable", message))

    def test_floats_that_json_does_not_have(self):
        self.peer.start("floats")
        header, body = self.peer.read()
        self.assertIs(header["tagged"], True)
        self.assertEqual(json.loads(body), [{"$seer": {"float": "nan"}}, {"$seer": {"float": "inf"}}, {"x": {"$seer": {"float": "-inf"}}}])
        self.assertEqual(self.peer.call("user_tag"), {"$seer": {"dict": {"$seer": {"float": "nan"}}}})

    def test_half_a_character(self):
        self.assertEqual(self.peer.call("surrogate"), "\ud800")

    def test_a_result_of_100_mb(self):
        self.assertEqual(len(self.peer.call("large", 100_000_000)), 100_000_000)

    def test_arguments_of_20_mb(self):
        self.assertEqual(len(self.peer.call("echo", "x" * 20_000_000)), 20_000_000)

    def test_a_client_that_is_slow_to_take_its_result_holds_up_nobody(self):
        self.peer.start("large", 50_000_000)
        other = self.worker.connect()
        for i in range(50):
            self.assertEqual(other.call("echo", i), i)
        header, body = self.peer.read()
        self.assertEqual(len(body), 50_000_002)
        self.assertEqual(self.peer.call("echo", "after"), "after")

    def test_secrets_stay_inside(self):
        mark = "[secret API_KEY]"
        self.assertEqual(self.peer.call("secret"), {"key": mark, mark: ["a " + mark + ' "quoted"']})
        self.assertEqual(self.failure("secret_error").message, "bad key " + mark)

    def test_async(self):
        self.assertEqual(self.peer.call("wait_a_little"), "slept")
        self.assertEqual(self.peer.call("returns_coroutine"), "slept")
        self.assertEqual([self.peer.call("same_loop"), self.peer.call("same_loop")], [True, True])
        failure = self.failure("async_fails")
        self.assertIn('raise ValueError("async no")', failure.traceback)

    def test_calls_run_in_the_main_thread(self):
        self.assertIs(self.peer.call("is_main_thread"), True)

    def test_a_fork_that_comes_back_changes_nothing(self):
        self.assertEqual(self.peer.call("fork_and_return"), 0)
        self.assertEqual(self.peer.call("echo", 1), 1)

    def test_calls_in_one_piece_run_in_order(self):
        """An answer may overtake that of another call: the one of a client that is slow to read comes from the journal."""
        ids = [self.peer.start("note", i) for i in range(200)]
        answers = {}
        while len(answers) < len(ids):
            header, body = self.peer.read()
            self.assertIn(header["t"], ("queued", "started", "result"))  # queued, if one waits for longer
            if header["t"] == "result":
                answers[header["id"]] = json.loads(body)
        self.assertEqual([answers[call_id] for call_id in ids], list(range(200)))
        self.assertEqual(self.peer.call("all_noted"), list(range(200)))

    def test_many_connections(self):
        peers = [self.worker.connect() for _ in range(50)]
        ids = [peer.start("echo", i) for i, peer in enumerate(peers)]
        self.assertEqual([p.answer(call_id) for p, call_id in zip(peers, ids)], list(range(50)))

    def test_a_frame_against_the_rules_closes_its_connection_only(self):
        for data in (b"\xff" * 12, struct.pack("<IQ", 2, 0) + b"[]", struct.pack("<IQ", 20, 0) + b'{"t":"call","id":""}',
                     frame({"t": "call", "id": "short", "fn": "echo"}), frame({"t": "call", "id": "with spaces in it", "fn": "echo"}),
                     frame({"t": "call", "id": "long enough", "fn": ""}),
                     frame({"t": "call", "id": "timeouts", "fn": "echo", "timeout": "1"}),
                     frame({"t": "attach"})):
            with self.subTest(data):
                bad = self.worker.connect()
                bad.sock.sendall(data)
                self.assertEqual(bad.sock.recv(1), b"")
        self.assertEqual(self.peer.call("echo", 1), 1)


class Unsendable(unittest.TestCase):
    CODE = '''
import seer_worker.execution.answers as answers, seer_worker.values.body as body
body.MAX_PARTS, answers.MAX_BODY = 3, 1000

def made(what):
    return {"parts": [b"x"] * 3, "json": "x" * 2000, "bytes": b"x" * 2000, "fine": 1}[what]

@expose
def in_turn(what): return made(what)

@expose(concurrent=1)
def thread(what): return made(what)

@expose(concurrent=1)
async def task(what): return made(what)

@expose(batch=2)
def batch(what: list): return [made(w) for w in what]

@expose
def stream(what):
    yield made(what)
    return 1
'''

    def test_an_answer_that_no_frame_can_have_is_an_error(self):
        """The worker, and the place among the calls of its function, are there for the next call."""
        texts = {"parts": "a value has 4 buffers, more than the 3 allowed", "json": "2002 bytes", "bytes": "larger than the 1000 allowed"}
        with serve(self.CODE) as worker:
            peer = worker.connect()
            for fn in ("in_turn", "thread", "task", "batch", "stream"):
                for what, text in texts.items():
                    with self.subTest(fn=fn, what=what):
                        with self.assertRaises(Failed) as caught:
                            peer.call(fn, what)
                        self.assertEqual((caught.exception.code, caught.exception.type), ("raised", "ValueError"))
                        self.assertIn(text, caught.exception.message)
                        self.assertEqual(peer.call(fn, "fine"), 1)


class Death(unittest.TestCase):
    def test_a_killed_worker_closes_everything(self):
        with serve(CODE) as worker:
            peer = worker.connect()
            peer.start("die")
            with self.assertRaises((EOFError, ConnectionResetError)):
                peer.read()
            with self.assertRaises((EOFError, ConnectionResetError)):
                worker.heard()
            self.assertEqual(worker.process.wait(120), -9)


if __name__ == "__main__":
    unittest.main()
