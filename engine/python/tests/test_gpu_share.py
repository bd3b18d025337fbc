import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from seer_worker.process import gpu_share

TORCH = """
import types
queued, fractions = [], {}
def _set(fraction, device): fractions[device] = fraction
cuda = types.SimpleNamespace(device_count=lambda: 2, set_per_process_memory_fraction=_set, _lazy_call=queued.append)
"""


class GPUShareTest(unittest.TestCase):
    def run_python(self, code, fraction, torch=TORCH):
        """Run code in a process of its own that may import a stand-in for torch."""
        with tempfile.TemporaryDirectory() as folder:
            if torch:
                with open(os.path.join(folder, "torch.py"), "w") as f:
                    f.write(torch)
            top = os.path.dirname(os.path.dirname(os.path.abspath(gpu_share.__file__ + "/..")))
            env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(top), top, folder]), "SEER_GPU_FRACTION": fraction}
            code = "import os, sys\nfrom seer_worker.process import gpu_share\ngpu_share.keep(os.environ)\n" + textwrap.dedent(code)
            done = subprocess.run([sys.executable, "-S", "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.stdout.strip()

    def test_torch_is_limited_when_it_uses_a_gpu(self):
        out = self.run_python("""
            import importlib.util
            assert importlib.util.find_spec("torch") and "torch" not in sys.modules
            import torch
            before = dict(torch.fractions)
            for call in torch.queued: call()
            print(before, torch.fractions, len(torch.queued))
            """, "0.2500")
        self.assertEqual(out, "{} {0: 0.25, 1: 0.25} 1")

    def test_whole_gpus_are_not_limited(self):
        for fraction in ("", "1", "0", "-1", "nan", "x"):
            self.assertEqual(self.run_python("import torch; print(len(torch.queued))", fraction), "0")

    def test_without_torch(self):
        out = self.run_python("""
            import importlib.util
            print(importlib.util.find_spec("torch"))
            try:
                import torch
            except ImportError as e:
                print(e)
            """, "0.5", torch="")
        self.assertEqual(out, "None\nNo module named 'torch'")


if __name__ == "__main__":
    unittest.main()
