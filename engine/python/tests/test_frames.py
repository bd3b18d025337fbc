"""Frames and values: the vectors that Go reads too, streams cut at every byte, and noise."""

import json
import math
import random
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROTOCOL = HERE.parents[2] / "protocol"
sys.path[:0] = [str(HERE.parent), str(PROTOCOL)]

import client  # noqa: E402
from harness import serve  # noqa: E402

from seer_worker import values  # noqa: E402
from seer_worker.frames import Decoder, FrameError, begin  # noqa: E402


def vectors(name):
    return json.loads((PROTOCOL / "testdata" / "vectors" / name).read_text(encoding="utf-8"))


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


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


class Values(unittest.TestCase):
    def test_vectors(self):
        for v in vectors("values.json")["valid"]:
            with self.subTest(v["name"]):
                value = eval(v["python"])
                self.assertEqual(values.encode(value), (v["wire"].encode(), v["tagged"]))
                wire = json.loads(v["wire"])
                self.assertTrue(same(values.decode(wire) if v["tagged"] else wire, value))
                self.assertTrue(same(client._result(v["wire"].encode(), v["tagged"]), value))
                body, tagged = client._arguments("f", [value], {})
                arguments = json.loads(body)["args"]
                self.assertTrue(same(values.decode(arguments[0]) if tagged else arguments[0], value))

    def test_invalid_vectors(self):
        for v in vectors("values.json")["invalid"]:
            with self.subTest(v["name"]):
                with self.assertRaises(ValueError):
                    values.decode(json.loads(v["wire"]))
                with self.assertRaises(client.SeerError):
                    client._result(v["wire"].encode(), True)

    def test_any_value_survives_the_way(self):
        chance = random.Random(9)
        for _ in range(3_000):
            value = _random_value(chance, 4)
            encoded = values.encode(value)
            self.assertTrue(same(client._result(encoded.data, encoded.tagged), value), value)
            body, tagged = client._arguments("f", [value], {"k": value})
            got = json.loads(body)
            for one in (got["args"][0], got["kwargs"]["k"]):
                self.assertTrue(same(values.decode(one) if tagged else one, value), value)


def _random_value(chance, depth):
    kind = chance.randrange(8 if depth else 5)
    if kind == 0:
        return chance.choice([None, True, False])
    if kind == 1:
        return chance.randrange(-10 ** 20, 10 ** 20)
    if kind == 2:
        return chance.choice([chance.random(), math.nan, math.inf, -math.inf, -0.0])
    if kind in (3, 4):
        return "".join(chance.choice("ab\"\\\n\x00é\u2028\U0001f600\ud800$") for _ in range(chance.randrange(6)))
    if kind == 5:
        return [_random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    keys = ["$seer", "float", "dict", "a", ""]
    return {chance.choice(keys): _random_value(chance, depth - 1) for _ in range(chance.randrange(3))}


if __name__ == "__main__":
    unittest.main()
