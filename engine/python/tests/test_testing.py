"""Loading an interface in an ordinary Python, as seed users test theirs."""

import datetime
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from seer_worker.testing import LoadFailed, as_sent, interfaces, load_interface  # noqa: E402

CODE = """
import os
path = get_model_path("google/gemma-2-9b")
variable = os.environ["MODEL_GOOGLE_GEMMA_2_9B_PATH"]
import seer_test_helper

@expose
def add(a, b): return a + b + seer_test_helper.ZERO

@expose
async def models(): return list_configured_models()
"""


class Loading(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="seer-testing-")
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.file = self.folder / "seer_test_interface.py"
        self.file.write_text(CODE)
        (self.folder / "seer_test_helper.py").write_text("ZERO = 0\n")
        before = dict(os.environ), list(sys.path)
        self.addCleanup(sys.modules.pop, "seer_test_helper", None)
        self.addCleanup(sys.modules.pop, "seer_test_interface", None)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before[0]), sys.path.__setitem__(slice(None), before[1])))

    def test_a_module_with_the_names(self):
        module = load_interface(self.file, models={"google/gemma-2-9b": self.folder})
        self.assertEqual((module.add(1, 2), module.path, module.variable), (3, str(self.folder), str(self.folder)))
        self.assertIs(sys.modules["seer_test_interface"], module)
        self.assertIsNot(load_interface(self.file, models={"google/gemma-2-9b": self.folder}), module)

    def test_datasets(self):
        lines = ["import os", "data = get_dataset_path('org/set'), os.environ['DATASET_ORG_SET_PATH']", "@expose", "def f(): pass"]
        self.file.write_text("\n".join(lines))
        module = load_interface(self.file, datasets={"org/set": self.folder})
        self.assertEqual(module.data, (str(self.folder), str(self.folder)))

    def test_a_file_that_cannot_be_served(self):
        with self.assertRaises(LoadFailed) as caught:
            load_interface(self.file)
        self.assertIn("'google/gemma-2-9b' is not configured", str(caught.exception))
        self.assertIn('File "seer_test_interface.py", line 3', str(caught.exception))

    def test_results_as_they_are_sent(self):
        self.assertEqual(as_sent({"a": (1, {2})}), {"a": [1, [2]]})
        self.assertTrue(math.isnan(as_sent([float("nan")])[0]))
        self.assertEqual(as_sent({"a": b"raw", "when": datetime.date(2026, 1, 31)}), {"a": b"raw", "when": datetime.date(2026, 1, 31)})
        with self.assertRaisesRegex(TypeError, r'result\["a"\] is an object'):
            as_sent({"a": object()})

    def test_arrays_as_they_are_sent(self):
        array = np.arange(6.0).reshape(2, 3)
        sent = as_sent({"a": array[:, ::-1]})["a"]
        self.assertEqual((sent.dtype, sent.tolist()), (np.float64, [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]))
        sent[0, 0] = 9
        self.assertEqual(array[0, 2], 2)

    def test_afterwards_all_is_as_before(self):
        sys.modules.pop("seer_test_helper", None)
        before = dict(os.environ), list(sys.path), set(sys.modules)
        with interfaces() as load:
            load(self.file, models={"google/gemma-2-9b": self.folder})
        after = dict(os.environ), list(sys.path), {m for m in sys.modules if m != "seer_test_helper"}
        self.assertEqual(after, before)

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "this Python has no pytest; the line above tests what the fixture does")
    def test_the_fixture(self):
        (self.folder / "test_it.py").write_text(textwrap.dedent("""
            import os, sys

            def test_one(seer_interface):
                tools = seer_interface("seer_test_interface.py", models={"google/gemma-2-9b": "."})
                assert tools.add(1, 2) == 3

            def test_nothing_is_left():
                assert "seer_test_interface" not in sys.modules
                assert "MODEL_GOOGLE_GEMMA_2_9B_PATH" not in os.environ
        """))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "seer_worker.pytest_plugin", "-p", "no:cacheprovider"]
        run = subprocess.run(command, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(HERE.parent)},
                             stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    unittest.main()
