"""Frames: the vectors that Go reads too, streams cut at every byte, and noise."""

import json
import random
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROTOCOL = HERE.parents[1] / "protocol"
sys.path[:0] = [str(HERE.parent), str(PROTOCOL)]

from harness import serve  # noqa: E402

from seer_worker.transport.frames import Decoder, FrameError, begin  # noqa: E402


def vectors(name):
    return json.loads((PROTOCOL / "testdata" / "vectors" / name).read_text(encoding="utf-8"))


class Frames(unittest.TestCase):
    def test_vectors(self):
        for v in vectors("frames.json")["valid"]:
            with self.subTest(v["name"]):
                data = bytes.fromhex(v["bytes"])
                want = [(f["header"], f["body"].encode()) for f in v["frames"]]
                self.assertEqual(Decoder().feed(data), want)
                again = b"".join(begin(json.dumps(h, separators=(",", ":"), ensure_ascii=False).encode(), len(b)) + b for h, b in want)
                self.assertEqual(again, data)

    def test_invalid_vectors(self):
        for v in vectors("frames.json")["invalid"]:
            with self.subTest(v["name"]), self.assertRaises(FrameError):
                Decoder().feed(bytes.fromhex(v["bytes"]))

    def test_cut_at_every_byte(self):
        valid = [v for v in vectors("frames.json")["valid"] if v["frames"]]
        data = b"".join(bytes.fromhex(v["bytes"]) for v in valid)
        count = sum(len(v["frames"]) for v in valid)
        for cut in range(1, len(data)):
            decoder = Decoder()
            self.assertEqual(len(decoder.feed(data[:cut]) + decoder.feed(data[cut:])), count, cut)
        decoder = Decoder()
        self.assertEqual(sum(len(decoder.feed(data[i:i + 1])) for i in range(len(data))), count)

    def test_noise(self):
        chance = random.Random(7)
        valid = [bytearray.fromhex(v["bytes"]) for v in vectors("frames.json")["valid"] if v["bytes"]]
        for _ in range(20_000):
            data = bytearray(chance.choice(valid)) if chance.random() < 0.8 else bytearray(chance.getrandbits(8) for _ in range(40))
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.getrandbits(8)
            try:
                Decoder().feed(bytes(data))
            except FrameError:
                pass

    def test_noise_does_not_harm_a_worker(self):
        chance = random.Random(8)
        call = bytes.fromhex(vectors("frames.json")["valid"][0]["bytes"])
        with serve("@expose\ndef embed(text, layer): return layer\n") as worker:
            for cut in range(len(call)):
                peer = worker.connect()
                peer.sock.sendall(call[:cut])
                peer.close()
            for _ in range(300):
                data = bytearray(call)
                for _ in range(chance.randrange(1, 4)):
                    data[chance.randrange(len(data))] = chance.getrandbits(8)
                peer = worker.connect()
                peer.sock.sendall(data)
                peer.close()
            self.assertEqual(worker.connect().call("embed", "x", 3), 3)


if __name__ == "__main__":
    unittest.main()
