"""Functions so brief that the main thread runs them in passing, and what happens when one of them is not brief for once."""

import threading
import unittest

from harness import LIMIT, Failed, eventually, frame, serve

CODE = '''
import asyncio, queue, threading, time
things, barrier = queue.Queue(), threading.Barrier(2)

def here():
    return threading.current_thread() is threading.main_thread()

@expose(concurrent=True)
def quick(value): return value

inside = []

@expose(concurrent=True)
def take():
    inside.append(here())
    return things.get(), here()

@expose(concurrent=True)
def where(): return inside[-1]

@expose(concurrent=True)
def meet(wait=False):
    return barrier.wait(120) >= 0 if wait else here()

@expose
def put(value):
    things.put(value)
    return here()

@expose(batch=4)
def put_all(value: list):
    for v in value:
        things.put(v)
    return [here()] * len(value)

@expose
async def put_soon(value):
    await asyncio.sleep(0.01)
    things.put(value)
    return here()

@expose
def put_never():
    while True:
        time.sleep(0.01)

@expose
def main(): return here()
'''


class Passing(unittest.TestCase):
    def setUp(self):
        self.worker = serve(CODE)
        self.worker.__enter__()
        self.addCleanup(self.worker.__exit__)
        self.peer, self.other = self.worker.connect(), self.worker.connect()

    def waits_in_the_main_thread(self):
        """Makes take one that is brief, and then one that waits for something."""
        def in_passing():
            self.other.call("put", 0)
            return self.peer.call("take")[1]

        def waits():
            eventually(in_passing, "take to be known as brief")
            begun = self.worker.counts()[0]
            calls.append(self.peer.start("take"))
            eventually(lambda: self.worker.counts()[0] == begun + 1 and self.state(calls[-1]) == "running", "the call to begin")
            if self.other.call("where"):
                return True
            self.other.call("put", 0)  # a thread had it, as the main one was late
            self.peer.answer(calls[-1])
            return False

        calls = []
        eventually(waits, "take to wait in the main thread")
        return calls[-1]

    def test_it_may_wait_for_a_call_that_has_to_have_its_turn(self):
        for fn in ("put", "put_all", "put_soon"):
            with self.subTest(fn):
                self.setUp()
                call = self.waits_in_the_main_thread()
                self.assertFalse(self.other.call(fn, "now"))
                self.assertEqual(self.peer.answer(call), ["now", True])
                eventually(lambda: self.other.call("main"), "the main thread to give turns again")
                self.other.call("put", 1)
                self.assertEqual(self.peer.call("take"), [1, False])  # it is not trusted any more

    def test_several_turns_are_one_at_a_time_and_can_be_cancelled(self):
        call = self.waits_in_the_main_thread()
        stuck = self.other.start("put_never")
        thirds = [self.worker.connect(client="third") for _ in range(3)]  # one client, whose calls keep their order
        puts = [p.start("put", i) for i, p in enumerate(thirds)]
        eventually(lambda: self.state(stuck) == "running", "another thread to give turns")
        self.assertEqual([self.state(i) for i in puts], ["queued"] * 3)
        self.other.send({"t": "cancel", "id": stuck})
        with self.assertRaises(Failed) as caught:
            self.other.answer(stuck)
        self.assertEqual(caught.exception.code, "cancelled")
        for peer, put in zip(thirds, puts):
            self.assertIn(peer.answer(put), (True, False))
        self.assertEqual(self.peer.answer(call), [0, True])

    def state(self, call_id):
        return self.worker.connect(runtime=True).calls(id=call_id)[0]["state"]

    def test_it_may_wait_for_another_one_that_came_with_it(self):
        eventually(lambda: self.peer.call("meet"), "meet to be known as brief")
        calls = [b'{"args":[true],"kwargs":{}}'] * 2
        self.peer.sock.sendall(b"".join(frame({"t": "call", "id": "together-%d" % i, "fn": "meet"}, b) for i, b in enumerate(calls)))
        answers = [self.peer.read() for _ in calls]
        self.assertEqual([(h["t"], b) for h, b in answers], [("result", b"true")] * 2)

    def test_a_stop_waits_for_what_has_its_turn_elsewhere(self):
        call = self.waits_in_the_main_thread()
        put = self.other.start("put", 1)
        begun = self.worker.counts()[0]
        self.assertGreaterEqual(begun, 2)
        self.worker.tell({"t": "stop"})
        self.assertIn(self.other.answer(put), (True, False))
        self.assertEqual(self.peer.answer(call), [1, True])
        self.assertEqual(self.worker.process.wait(LIMIT), 0)

    def test_many_clients(self):
        def client():
            peer = self.worker.connect()
            for i in range(50):
                if peer.call("quick", i) != i or not peer.call("put", i) or peer.call("take")[0] is None:
                    wrong.append(i)

        wrong = []
        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual((wrong, self.worker.counts()), ([], (1200, 1200)))


if __name__ == "__main__":
    unittest.main()
