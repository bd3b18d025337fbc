"""What an import costs, and what packages have."""

import subprocess
import sys
import unittest

import seer.environment

HEAVY = {"asyncio", "dataclasses", "enum", "functools", "inspect", "re", "typing"}


class TestImport(unittest.TestCase):
    def test_a_sandbox_imports_little(self):
        code = f"import sys; before = set(sys.modules); from seer.environment import Sandbox; print(({HEAVY} & set(sys.modules)) - before)"
        found = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(found.stdout.strip(), "set()")

    def test_names_are_found_when_they_are_used(self):
        for name in seer.environment.__all__:
            self.assertEqual(getattr(seer.environment, name).__name__, name)
            self.assertIn(name, dir(seer.environment))
        with self.assertRaisesRegex(AttributeError, "'seer.environment' has no attribute 'Sandbax'"):
            seer.environment.Sandbax  # noqa: B018
        with self.assertRaises(ImportError):
            from seer.environment import Sandbax  # noqa: F401
