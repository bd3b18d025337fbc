"""A generated library as people use it: its functions, asyncio, and several versions side by side."""

import asyncio
import concurrent.futures
import contextlib
import os
import subprocess
import sys
import tempfile
import traceback
import unittest
from pathlib import Path

import bundle
from fake_worker import Service
from fakes import Front
from harness import eventually

LIBRARY = '''"""Tools."""
from __future__ import annotations
from ._client import Library as _Library, Default as _Default
from ._client import options
_library = _Library(__file__)
attach = _library.attach

@_library.function
def add(a: int, b: int = 2, *more: int, c=_Default("3"), **rest) -> list[int]:
    """Adds."""
    return _library.call("add", [], {"a": a, "b": b, "c": c, **rest}, ["a", "b"], more)

@_library.function
def sleep(seconds):
    return _library.call("sleep", [], {"seconds": seconds})

@_library.function
def fail(n):
    return _library.call("fail", [], {"n": n})

@_library.function
def count(n, pause=0.0):
    return _library.stream("count", [], {"n": n, "pause": pause})
'''


def count(call, n, pause):
    for i in range(n):
        yield i
        call.sleep(pause)


def sleep(call, seconds):
    call.sleep(seconds)
    return seconds


def fail(call, n):
    raise ValueError("no good: %d" % n)


def library(stack, name, version=""):
    """An imported library of that name, and the front of its service."""
    def add(call, a, b=2, *more, c=3, **rest):
        return [version, a, b, list(more), c, rest]

    service = Service(add=add, sleep=sleep, count=count, fail=fail)
    sleep.concurrent = True
    front = stack.enter_context(Front(service))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(LIBRARY)
    (folder / name / "_client.py").write_text(bundle.text())
    (folder / name / "connection.json").write_bytes(front.file.read_bytes())
    sys.path.insert(0, str(folder))
    stack.callback(sys.path.remove, str(folder))
    module = __import__(name)
    for loaded in (name, name + "._client"):
        stack.callback(sys.modules.pop, loaded, None)
    stack.callback(service.cut)
    stack.callback(module._library.client.close)
    return module, front


class Library(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def test_plain_calls_and_their_other_ways(self):
        tools, _ = library(self.stack, "tools_a")
        self.assertEqual(tools.add(1), ["", 1, 2, [], 3, {}])
        self.assertEqual(tools.add(1, 5, 6, c=7, d=8), ["", 1, 5, [6], 7, {"d": 8}])
        self.assertEqual(tools.add.submit(1, c=4).result(20), ["", 1, 2, [], 4, {}])
        self.assertEqual(list(tools.count(3)), [0, 1, 2])
        self.assertEqual(tools.add.handle(1).kind, "array")
        with self.assertRaisesRegex(TypeError, r"add\(\) missing 1 required positional argument: 'a'"):
            tools.add.submit()

    def test_errors_show_the_client_once(self):
        tools, _ = library(self.stack, "tools_e")
        for what, call in (("call", lambda: tools.fail(7)), ("unreadable", lambda: tools.sleep("x")),
                           ("submitted", lambda: tools.fail.submit(7).result(20)), ("stream", lambda: list(tools.count("x")))):
            with self.subTest(what):
                try:
                    call()
                    self.fail("no error")
                except tools._client.SeerError:
                    text = traceback.format_exc()
                self.assertEqual(text.count('_client.py"'), 1, text)
                self.assertIn(__file__, text)

    def test_three_versions_side_by_side(self):
        versions = [library(self.stack, "tools_v%d" % n, "v%d" % n)[0] for n in range(3)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = [pool.submit(versions[n % 3].add, n) for n in range(60)]
            self.assertEqual([a.result(30)[:2] for a in answers], [["v%d" % (n % 3), n] for n in range(60)])
        heard = []
        with versions[0].options(output=lambda *said: heard.append(said)):
            self.assertEqual(versions[1].add(1)[0], "v1")

    def test_asyncio(self):
        tools, front = library(self.stack, "tools_b")

        async def begun(n):
            while sum(c.fn == "sleep" and c.state != "queued" for c in list(front.worker.calls.values())) < n:
                await asyncio.sleep(0.01)

        async def main():
            both = await asyncio.gather(*(tools.add.aio(i) for i in range(20)))
            self.assertEqual([a[1] for a in both], list(range(20)))
            self.assertEqual([i async for i in tools.count.aio(4)], [0, 1, 2, 3])
            self.assertEqual(await tools.sleep.submit(0.1), 0.1)
            waits = asyncio.ensure_future(tools.sleep.aio(60))
            await begun(2)
            waits.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waits
            async with tools.count.aio(1000, 0.01) as stream:
                async for i in stream:
                    if i == 2:
                        break
            waits = asyncio.ensure_future(tools.sleep.aio(60))
            await begun(3)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(waits, 0.2)

        asyncio.run(main())
        eventually(lambda: not [c for c in list(front.worker.calls.values()) if c.state in ("queued", "running")], "the ends of all calls")
        self.assertEqual(sorted(c.state for c in front.worker.calls.values() if c.fn == "sleep"), ["cancelled", "cancelled", "done"])

    def test_help_and_a_fork_server(self):
        tools, _ = library(self.stack, "tools_c")
        code = ("import tools_c, multiprocessing as m, pickle, inspect\n"
                "if __name__ == '__main__':\n"
                "    tools_c.add(0)\n"
                "    for how in ('fork', 'spawn'):\n"
                "        with m.get_context(how).Pool(3) as pool: print([r[1] for r in pool.map(tools_c.add, range(9))])\n"
                "    help(tools_c.add)\n")
        folder = os.path.dirname(os.path.dirname(tools.__file__))
        Path(folder, "program.py").write_text(code)
        out = subprocess.run([sys.executable, "program.py"], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=120, check=True,
                             env={**os.environ, "PYTHONPATH": folder}).stdout
        self.assertEqual(out.count("[0, 1, 2, 3, 4, 5, 6, 7, 8]"), 2)
        self.assertIn("add(a: 'int', b: 'int' = 2, *more: 'int', c=3, **rest) -> 'list[int]'\n    Adds.", out)


if __name__ == "__main__":
    unittest.main()
