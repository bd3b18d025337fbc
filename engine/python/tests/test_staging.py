"""Large tensors of a GPU are sent while they are still being copied. A fake takes the place of CUDA: its copy waits for the test."""

import json
import sys
import unittest
from pathlib import Path
from typing import Any, Tuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from harness import Worker, eventually, serve  # noqa: E402

from seer_worker.journal.journal import Journal  # noqa: E402

MiB = 1 << 20
SIZE = 40 * MiB + 12
CODE = '''
import os, sys, types
import seer_worker.execution.staging as staging

class Device:
    type = "cuda"
    def __str__(self): return "cuda:0"

class Tensor:
    layout, dtype, is_quantized, requires_grad = "strided", "torch.uint8", False, False
    def __init__(self, data):
        self.data, self.shape, self.device = data, (len(data),), Device()
    def detach(self): return self
    def numel(self): return len(self.data)
    def element_size(self): return 1
    def dim(self): return 1

class Copy:
    """A piece other than the first arrives when something has been written to its pipe; "x" is a fault."""
    @staticmethod
    def buffers(torch):
        return [bytearray(staging.PIECE) for _ in range(2)]
    def __init__(self, torch, tensor, memory, buffers):
        self.tensor, self.memory, self.buffers = tensor, memory, buffers
    def begin(self, number, start, stop):
        self.buffers[number % 2][:stop - start] = self.tensor.data[start:stop]
    def end(self, number, start, stop):
        if number and wait:
            with open("gate%d" % number) as gate:
                if gate.read() == "x":
                    raise RuntimeError("an illegal memory access was encountered")
        self.memory[start:stop] = self.buffers[number % 2][:stop - start]

torch = types.ModuleType("torch")
torch.Tensor, torch.strided = Tensor, "strided"
sys.modules["torch"], staging.PinnedCopy = torch, Copy
os.mkfifo("gate1")
os.mkfifo("gate2")
data, wait = bytearray(os.urandom(SIZE)), True

@expose
def tensor(): return Tensor(data)

@expose
def at_once(times: int):
    global wait
    wait = False
    return [Tensor(data)] * 2 + [Tensor(data) for _ in range(times)]

@expose
def overwrite():
    data[:] = bytes(len(data))
    return True

@expose
def expected() -> bytes: return bytes(data)
'''.replace("SIZE", str(SIZE))


def open_gate(worker: Worker, number: int, text: str) -> None:
    with open(worker.workdir / ("gate%d" % number), "w") as gate:  # returns when the worker reads
        gate.write(text)


def parts(body: bytes) -> Tuple[Any, bytes]:
    """The JSON of a body, and what follows it."""
    start = 8 + 17 * int.from_bytes(body[4:8], "little")
    size = int.from_bytes(body[9:17], "little")
    return json.loads(body[start:start + size]), body[start + size:]


class Staging(unittest.TestCase):
    def test_sending_begins_before_the_copy_has_ended(self) -> None:
        with serve(CODE) as worker:
            peer, watcher = worker.connect(), worker.connect()
            data = parts(next(b for h, b in peer.events(peer.start("expected")) if h["t"] == "result"))[1]
            call = peer.start("tensor")
            first = peer._exactly(12 * MiB)  # of the first piece; the second waits at the gate
            watcher.send({"t": "attach", "id": call})  # may not get what is not there yet
            open_gate(worker, 1, "on")
            open_gate(worker, 2, "on")
            size = int.from_bytes(first[4:12], "little")
            head = int.from_bytes(first[:4], "little")
            body = first[12 + head:] + peer._exactly(12 + head + size - len(first))
            value, sent = parts(body)
            self.assertEqual(value["$seer"]["array"], {"dtype": "uint8", "shape": [SIZE], "buffer": 1, "lib": "torch", "device": "cuda:0"})
            self.assertEqual(sent, data)
            self.assertEqual(parts({h["t"]: b for h, b in watcher.events(call)}["result"])[1], data)
            self.assertTrue(worker.connect().call("overwrite"))  # what is kept is not the user's memory
            late = worker.connect()
            late.send({"t": "attach", "id": call})
            self.assertEqual(parts({h["t"]: b for h, b in late.events(call)}["result"])[1], data)

    def test_a_copy_that_fails_loses_the_answer(self) -> None:
        with serve(CODE) as worker:
            peer = worker.connect()
            call = peer.start("tensor")
            peer._exactly(1 * MiB)
            open_gate(worker, 1, "x")
            with self.assertRaises(EOFError):
                peer._exactly(SIZE)
            again = worker.connect()
            again.send({"t": "attach", "id": call})
            header, _ = again.read()
            self.assertEqual((header["t"], header["error"]["code"]), ("error", "interrupted"))
            self.assertTrue(again.call("overwrite"))  # the worker goes on

    def test_the_journal_gives_out_only_what_is_there(self) -> None:
        journal, asked = Journal(None), []
        journal.queued("call-0001", "f", "main", "", {}, b"")
        journal.result("call-0001", 1, [b"x" * 20, b"y"])
        journal.whole = lambda body: asked.append(body) or len(asked) > 1
        self.assertEqual([next(journal.events("call-0001")).missing for _ in range(2)], [True, False])
        self.assertEqual(asked, [[b"x" * 20, b"y"]] * 2)

    def test_several_tensors_and_one_client_that_leaves(self) -> None:
        with serve(CODE) as worker:
            peer = worker.connect()
            data = parts(next(b for h, b in peer.events(peer.start("expected")) if h["t"] == "result"))[1]
            call = peer.start("at_once", 1)
            body = next(b for h, b in peer.events(call) if h["t"] == "result")
            value, sent = parts(body)
            self.assertEqual([tag["$seer"]["array"]["buffer"] for tag in value], [1, 1, 2])  # the same tensor is sent once
            self.assertEqual(sent, data * 2)
            leaver = worker.connect()
            leaver.start("at_once", 2)
            leaver._exactly(1 * MiB)
            leaver.close()
            eventually(lambda: worker.connect().call("overwrite"), "the worker goes on")


if __name__ == "__main__":
    unittest.main()
