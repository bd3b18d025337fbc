"""The examples of docs/interface.md, as they stand there."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from loading import HERE, interface_of

from seer_worker.interface.describe import describe
from seer_worker.schema.validate import BadArguments
from seer_worker.testing import as_sent

PAGE = HERE.parents[2] / "docs" / "interface.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)


def block(start):
    found = [b for b in BLOCKS if re.search(r"^(async )?def %s\(" % start, b, re.M)]
    assert len(found) == 1, (start, len(found))
    return found[0]


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="seer-doc-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        np.save(str(self.folder / "weights.npy"), np.arange(12.0).reshape(2, 3, 2))

    def load(self, start):
        self.interface = interface_of(block(start), [{"name": "./model", "path": str(self.folder)}])
        self.functions = {f["name"]: f for f in describe(self.interface)["functions"]}

    def call(self, name, *args, **kwargs):
        args, kwargs = self.interface.binders[name].bind(args, kwargs)
        return self.interface.registry.functions[name](*args, **kwargs)

    def test_there_are_as_many_as_are_tested(self):
        self.assertEqual(len(BLOCKS), 4)

    def test_the_first(self):
        self.load("norm")
        self.assertAlmostEqual(self.call("norm", 0), 7.386, 3)
        self.assertEqual(as_sent(self.call("rows", 1)).tolist(), [[6, 7], [8, 9], [10, 11]])
        self.assertIn("shape (row, column)", str(self.functions["rows"]["output_schema"]))

    def test_options(self):
        self.load("words")
        self.assertEqual(self.call("words", "a b"), 2)
        self.assertEqual(list(self.call("tokens", "a b")), ["a ", "b "])
        self.assertEqual(asyncio.new_event_loop().run_until_complete(self.call("wait", 0)), 0)
        binder = self.interface.binders["lengths"]
        args, kwargs = binder.batch([binder.bind(["abc"], {}), binder.bind([], {"texts": ""})])
        self.assertEqual(self.interface.registry.functions["lengths"](*args, **kwargs), [3, 0])
        self.assertEqual({n: {k: f[k] for k in ("stream", "async", "concurrent", "batch", "timeout_seconds", "title", "hints") if k in f}
                          for n, f in self.functions.items()},
                         {"words": {"timeout_seconds": 60, "title": "Count words", "hints": {"read_only": True}},
                          "tokens": {"stream": True}, "wait": {"async": True, "concurrent": 16}, "lengths": {"batch": 32}})

    def test_types(self):
        self.load("pool")
        self.assertEqual(self.call("pool", [[1, 2], [3, 4]]).tolist(), [2, 3])
        self.assertEqual(self.call("pool", [[1, 2], [3, 4]], options={"pooling": "max"}).tolist(), [3, 4])
        self.assertEqual(self.call("count", {"1": ["a", "b"]}), {1: 2})
        place = r'pool: options\["pooling"\] must be one of "mean", "max" \(Pooling\), and is "sum" \(str\)'
        with self.assertRaisesRegex(BadArguments, place):
            self.call("pool", [[1.0]], options={"pooling": "sum"})
        self.assertIn("shape (seq, hidden)", str(self.functions["pool"]["params"][0]["schema"]))
        self.assertEqual(self.functions["pool"]["params"][1]["doc"], "Mean of all layers by default.")

    def test_the_test(self):
        (self.folder / "interface.py").write_text(block("norm"))
        (self.folder / "test_interface.py").write_text(block("test_norm").replace('"./model": "./model"', '"./model": "."'))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "seer_worker.pytest_plugin", "-p", "no:cacheprovider"]
        run = subprocess.run(command, cwd=str(self.folder), env={**os.environ, "PYTHONPATH": str(HERE.parent)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    unittest.main()
