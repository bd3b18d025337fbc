"""Jupyter finds what packages below a virtual environment have brought."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seer_notebook.server import places


class Search(unittest.TestCase):
    def test_packages_in_another_prefix(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            below = os.path.join(folder, "below é")
            packages = os.path.join(below, "lib", "python3.11", "site-packages")
            settings = os.path.join(below, "etc", "jupyter")
            os.makedirs(packages)
            os.makedirs(settings)
            path = ["/nothing/lib/python3.11/site-packages", packages, packages]
            with mock.patch.object(sys, "path", path), mock.patch.dict(os.environ, JUPYTER_CONFIG_PATH="/own", JUPYTER_PATH=""):
                places.search()
                places.search()
                self.assertEqual(os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep), ["/own", settings])
                self.assertEqual(os.environ["JUPYTER_PATH"], "")  # there is no share/jupyter


if __name__ == "__main__":
    unittest.main()
