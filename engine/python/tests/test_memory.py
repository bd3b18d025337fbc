"""Events whose bodies are memory of the user's objects: what becomes of these later changes nothing of them."""

import unittest

import numpy as np
from harness import Worker, eventually, serve

from seer_worker.values import decode, value_parts

CODE = '''
import numpy as np
state = np.zeros(3 << 20)  # 24 MiB are not written to the journal

@expose
def whole(): return state

@expose
def change(value): state[:] = value

@expose
def steps(n):
    a = np.zeros(1000)
    for i in range(n):
        a[:] = i
        yield a
'''
BESIDE = '''
@expose(concurrent=True)
def spoil(value): state[:] = value
'''
KEPT = {"ack": []}  # answers are not acknowledged by the next call


class Memory(unittest.TestCase):
    def value(self, header, body):
        self.assertIn(header["t"], ("result", "item"), header)
        return decode(value_parts(body), header.get("tagged", False))

    def again(self, peer, call):
        """All values of the call once more."""
        peer.send({"t": "attach", "id": call})
        return [self.value(h, b) for h, b in peer.events(call)]

    def test_an_answer_is_as_it_was_when_the_next_call_begins(self):
        with serve(CODE) as worker:
            peer = worker.connect()
            for value in range(1, 4):
                peer.call("change", value, options=KEPT)
                call = peer.start("whole", options=KEPT)
                self.assertTrue(np.all(self.value(*peer.read()) == value))
                peer.call("change", -1, options=KEPT)
                self.assertTrue(np.all(self.again(peer, call)[0] == value))

    def test_an_answer_is_as_it_was_while_others_run_beside_it(self):
        with serve(CODE + BESIDE) as worker:
            peer, other = worker.connect(), worker.connect()
            call = peer.start("whole", options=KEPT)
            eventually(lambda: [c["state"] for c in other.calls(id=call)] == ["done"], "the answer")
            self.assertIsNone(other.call("spoil", 7))  # before anything of the answer has been read
            self.assertTrue(np.all(self.value(*peer.read()) == 0))
            self.assertTrue(np.all(self.again(peer, call)[0] == 0))

    def test_items_that_cannot_be_written_to_the_disk(self):
        prepare = ("import resource,signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                   "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))")
        for code in (CODE, CODE + BESIDE):
            with Worker(code, prepare=prepare) as worker:
                peer = worker.ready().connect()
                call = peer.start("steps", 3, options=KEPT)
                first = [self.value(h, b) for h, b in peer.events(call)]
                for values in (first, self.again(peer, call)):
                    self.assertIsNone(values.pop())
                    self.assertEqual([set(v) for v in values], [{0.0}, {1.0}, {2.0}])


if __name__ == "__main__":
    unittest.main()
