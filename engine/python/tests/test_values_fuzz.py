"""Values against noise: whatever arrives is a value or a ValueError, and what is a value can be sent again.

SEER_FUZZ_SECONDS=600 goes on for as long, from another seed each time.
"""

import os
import random
import sys
import time
import unittest
from pathlib import Path
from typing import Any, List

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from values_cases import plain_form, same, vectors  # noqa: E402

from seer_worker import values  # noqa: E402

ROUNDS = 6_000


class Fuzz(unittest.TestCase):
    def test_mutations_of_the_vectors(self) -> None:
        seconds = float(os.environ.get("SEER_FUZZ_SECONDS", "0"))
        seed = random.randrange(1 << 30) if seconds else 11
        chance, end = random.Random(seed), time.monotonic() + seconds
        known = vectors("bodies.json")
        seeds = [bytes.fromhex(v["body"]) for v in known["valid"] + known["invalid"] if len(v["body"]) < 4000]
        done = good = 0
        while done < ROUNDS or time.monotonic() < end:
            body = chance.choice(seeds)
            body = _mutated(chance, body, seeds) if chance.random() < 0.3 else _mutated_part(chance, body, seeds)
            with self.subTest(seed=seed, body=body.hex()):
                good += self._one(chance, body)
            done += 1
        self.assertGreater(good, done // 50, "noise that is never a value tests little")

    def _one(self, chance: random.Random, body: bytes) -> bool:
        try:
            value = values.decode(values.value_parts(body, 1 << 20), True)
        except ValueError:
            value, failed = None, True
        else:
            failed = False
        try:
            reader, at = values.BodyReader(len(body), 1 << 20), 0
            while not reader.done:
                at += reader.feed(body[at:at + chance.randrange(1, 50)])
            again = values.decode(reader.parts(), True)
        except ValueError:
            self.assertTrue(failed)
            return False
        self.assertFalse(failed)
        self.assertEqual(repr(plain_form(again)), repr(plain_form(value)))
        try:
            sent = _sent(value)
        except values.Unserialisable as e:  # what is inside of an image file shows only now
            self.assertIn("image", e.at("it").lower())
            return True
        seen = repr(plain_form(sent))  # keys that are numbers have become texts on the way
        self.assertEqual(repr(plain_form(_sent(sent))), seen)
        return True

    def test_any_value_survives_the_way(self) -> None:
        chance = random.Random(9)
        for _ in range(3_000):
            value = _random_value(chance, 4)
            encoded = values.encode({"args": [value], "kwargs": {"k": value}})
            body = b"".join(encoded.body(deflate=chance.random() < 0.3))
            got = values.decode(values.value_parts(body), encoded.tagged)
            self.assertTrue(same(got, {"args": [value], "kwargs": {"k": value}}), value)


def _sent(value: Any) -> Any:
    encoded = values.encode(value)
    return values.decode([encoded.data, *map(bytearray, encoded.buffers)], encoded.tagged)


def _mutated_part(chance: random.Random, body: bytes, seeds: List[bytes]) -> bytes:
    """One part is changed, mostly the JSON, and the table fits."""
    try:
        parts = values.value_parts(body)
    except ValueError:
        return _mutated(chance, body, seeds)
    i = chance.randrange(len(parts)) if chance.random() < 0.2 else 0
    parts[i] = _mutated(chance, bytes(parts[i]), seeds)
    return b"".join(values.pack_body(parts))


def _mutated(chance: random.Random, body: bytes, seeds: List[bytes]) -> bytes:
    data = bytearray(body)
    for _ in range(chance.randrange(1, 4)):
        kind = chance.randrange(6)
        at = chance.randrange(len(data) + 1)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = chance.choice(b'0123456789-+.eE"\\{}[],:tn\x00\xff')
        elif kind == 2:
            del data[at:at + chance.randrange(1, 20)]
        elif kind == 3:
            data[at:at] = data[:chance.randrange(20)]
        elif kind == 4:  # numbers of the table, and those in JSON
            data[at:at + 1] = chance.choice([b"9999999999", b"-1", b"0", b"null", b"\xff" * 8, b"[]", b"{}", b"1.5", b"true"])
        else:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            data[at:at + chance.randrange(40)] = other[start:start + chance.randrange(40)]
    return bytes(data)


def _random_value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(10 if depth else 6)
    if kind == 0:
        return chance.choice([None, True, False])
    if kind == 1:
        return chance.randrange(-10 ** 20, 10 ** 20)
    if kind == 2:
        return chance.choice([chance.random(), float("nan"), float("inf"), -float("inf"), -0.0, complex(1, float("inf"))])
    if kind in (3, 4):
        return "".join(chance.choice("ab\"\\\n\x00é\u2028\U0001f600\ud800$") for _ in range(chance.randrange(6)))
    if kind == 5:
        return bytes(chance.getrandbits(8) for _ in range(chance.randrange(6)))
    if kind in (6, 7):
        return [_random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    keys = ["$seer", "float", "dict", "a", "", (1, "x"), b"k"] if kind == 8 else ["$seer", "float", "dict", "a", ""]
    return {chance.choice(keys): _random_value(chance, depth - 1) for _ in range(chance.randrange(3))}


if __name__ == "__main__":
    unittest.main()
