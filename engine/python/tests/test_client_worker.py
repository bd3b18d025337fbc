"""The client against a real worker."""

import contextlib
import io
import unittest

import bundle  # noqa: F401 - makes `client` importable
from client import Client, Handle, HandleGone, options
from fakes import Front
from harness import serve

CODE = '''
import numpy as np

@expose
def echo(x): return x

@expose
def count(n: int):
    for i in range(n):
        print("item", i)
        yield i

@expose
def fails(): raise ValueError("no good")

@expose
def ones(n: int): return np.ones(n, "float32")
'''


class Real:
    """A worker of the harness, as a front wants it."""

    def __init__(self, worker):
        self.worker = worker

    def connect(self):
        return self.worker.connect(token="main").sock

    def serve(self, sock, hello=b""):
        self.worker.tell({"t": "conn", "hello": hello.decode(), "token": "main"}, fd=sock.fileno())
        sock.close()


class RealWorker(unittest.TestCase):
    def each_way(self):
        for way in ({}, {"tcp": True}):
            with self.subTest(way), serve(CODE) as worker, Front(Real(worker), **way) as front, Client(front.file) as client:
                yield client

    def test_calls_streams_and_errors(self):
        for client in self.each_way():
            self.assertEqual(client.call("echo", ({"a": [1, b"x"]},)), {"a": [1, b"x"]})
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(list(client.stream("count", (3,))), [0, 1, 2])
            self.assertEqual(out.getvalue(), "item 0\nitem 1\nitem 2\n")
            with self.assertRaisesRegex(ValueError, "^no good$") as caught:
                client.call("fails")
            self.assertIn('File "interface.py"', caught.exception.remote_traceback)

    def test_handles(self):
        for client in self.each_way():
            handle = client.handle("ones", (100_000,))
            self.assertEqual((handle.shape, handle.dtype, handle[3], handle.sum()), ((100_000,), "float32", 1, 100_000))
            self.assertIsInstance(handle[:90_000], Handle)
            self.assertEqual((len(handle[:4]), handle.fetch().shape, client.call("echo", (handle,)).shape), (4, (100_000,), (100_000,)))
            with options(handles_above=0):
                self.assertIsInstance(client.call("echo", (1,)), Handle)
            self.assertTrue(handle.release())
            with self.assertRaises(HandleGone):
                handle.fetch()


if __name__ == "__main__":
    unittest.main()
