"""Bodies of values: taken in as they come, from one piece or many, compressed where it pays, and never more than was allowed."""

import os
import pickle
import random
import resource
import socket
import struct
import sys
import threading
import unittest
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from test_values import sent  # noqa: E402

from seer_worker import values  # noqa: E402


class Bodies(unittest.TestCase):
    def test_a_body_is_read_as_it_comes(self) -> None:
        chance = random.Random(3)
        for parts in (
            [b"[1]"],
            [b"{}", b"", b"abc"],
            [b"[" + b"1," * 50_000 + b"1]"],
            [b"0", bytes(200_000), b"", b"x" * 70_000],
            [b"0"] + [b"yz"] * 50_000,
        ):
            body = b"".join(values.pack_body(parts))
            for largest in (7, 1000, 1 << 20) if len(body) > 5000 else (1, 2, 1 << 20):
                reader, at = values.BodyReader(len(body)), 0
                while not reader.done:
                    room = reader.room()
                    n = min(len(room), chance.randrange(1, largest + 1), len(body) - at)
                    room[:n] = body[at : at + n]
                    reader.advance(n)
                    at += n
                self.assertEqual(at, len(body))
                self.assertEqual([bytes(p) for p in reader.parts()], parts)
            reader = values.BodyReader(len(body))
            self.assertEqual(reader.feed(body + b"the next"), len(body))
            self.assertEqual([bytes(p) for p in reader.parts()], parts)

    def test_arrays_may_be_written_to(self) -> None:
        encoded = values.encode({"a": b"x" * 10, "f": values.Array("float32", (1,), bytes(4))})
        for parts in ([encoded.data, *encoded.buffers], [encoded.data, *map(bytearray, encoded.buffers)]):
            array = values.decode(parts, True)["f"]
            array[0] = 1.5
            self.assertEqual(array.tolist(), [1.5])

    def test_only_what_shrinks_is_compressed(self) -> None:
        noise = random.Random(1).getrandbits(8 * 100_000).to_bytes(100_000, "little")
        body = b"".join(values.encode([bytes(100_000), noise, b"short"]).body(deflate=True))
        self.assertLess(len(body), 102_000)
        self.assertIn(noise, body)
        self.assertEqual(sent([bytes(100_000), noise, b"short"], deflate=True), [bytes(100_000), noise, b"short"])
        rows = [float(i) for i in range(10_000)]
        self.assertEqual(sent(rows, deflate=True), rows)
        self.assertEqual(values.encode([1]).body(deflate=True), [b"[1]"])

    def test_limits(self) -> None:
        body = b"".join(values.pack_body([b"0", bytes(1000)]))
        for call in (
            lambda: values.value_parts(body, 1000),
            lambda: values.BodyReader(1001, 1000),
            lambda: values.BodyReader(len(body), 1000),
        ):
            with self.assertRaises(ValueError):
                reader = call()
                reader.feed(body)
                reader.parts()
        bomb = zlib.compress(bytes(50_000_000), 9)
        with self.assertRaises(ValueError):
            values.value_parts(
                b"".join([b"\0SV1\1\0\0\0\1", len(bomb).to_bytes(8, "little"), (50_000_000).to_bytes(8, "little"), bomb]), 1 << 20
            )

    def test_what_is_announced_and_does_not_come_takes_no_memory(self) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reader = values.BodyReader(1 << 30)
        reader.feed(b'"' + b"x" * 100_000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 200 << 10)
        self.assertFalse(reader.done)

    def test_a_little_that_would_become_very_much(self) -> None:
        quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
        length = max(quarter, 256 << 20) + 1
        stored = length // 1000
        table = struct.pack("<BQQ", 0, 2, 2) + struct.pack("<BQQ", 1, stored, length)
        body = b"\x00SV1" + struct.pack("<I", 2) + table + b"{}" + bytes(stored)
        for read in (values.value_parts, lambda b: values.BodyReader(len(b)).feed(b)):
            with self.assertRaises(ValueError) as caught:
                read(body)
            self.assertIn("when it is decompressed", str(caught.exception))

    def test_over_a_socket(self) -> None:
        value = {"a": bytes(3_000_000), "b": [values.Array("uint8", (500_000,), bytes(range(250)) * 2000)], "c": "text"}
        encoded = values.encode(value)
        left, right = socket.socketpair()
        with left, right:

            def send() -> None:
                for piece in encoded.body():
                    left.sendall(piece)

            sender = threading.Thread(target=send)
            sender.start()
            reader = values.BodyReader(encoded.size)
            while not reader.done:
                reader.advance(right.recv_into(reader.room()))
            sender.join()
        decoded = values.decode(reader.parts(), encoded.tagged)
        self.assertEqual((decoded["a"], bytes(memoryview(decoded["b"][0])), decoded["c"]), (value["a"], bytes(value["b"][0].data), "text"))

    def test_errors_survive_pickling_of_small_types(self) -> None:
        image = values.Image("png", "L", (1, 2), b"data")
        self.assertEqual(image, values.Image("png", "L", [1, 2], bytearray(b"data")))
        self.assertEqual(pickle.loads(pickle.dumps(image)), image)


if __name__ == "__main__":
    unittest.main()
