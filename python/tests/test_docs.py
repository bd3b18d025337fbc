"""The reference is that of the docstrings, and everything has one."""

import subprocess
import sys
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "python-api"


class TestDocs(unittest.TestCase):
    def test_the_reference(self):
        done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
