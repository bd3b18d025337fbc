"""JupyterLab's files of a layer are there when it looks for them, and pip may replace each."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import harness  # noqa: F401 (finds the service)

from seer_notebook import assets


class Assets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="l é ")
        self.addCleanup(folder.cleanup)
        self.layer, self.own = Path(folder.name, "layer"), Path(folder.name, "own")
        self.site = self.layer / "lib" / "python3" / "site-packages"
        lab = self.of(self.layer)
        for file in (self.site / "jupyterlab" / "__init__.py", lab / "static" / "index.html", lab / "schemas" / "@a" / "b.json"):
            file.parent.mkdir(parents=True)
            file.write_text(file.name)
        known = mock.patch.object(sys, "path", [str(self.site)])
        known.start()
        self.addCleanup(known.stop)
        without = {name: module for name, module in sys.modules.items() if not name.startswith("jupyterlab")}
        for change in (mock.patch.dict(sys.modules, without, clear=True), mock.patch.object(sys, "prefix", str(self.own))):
            change.start()
            self.addCleanup(change.stop)

    @staticmethod
    def of(prefix: Path) -> Path:
        return prefix / "share" / "jupyter" / "lab"

    def test_links(self) -> None:
        mine = self.of(self.own) / "schemas" / "@a" / "mine.json"
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        assets.link()
        assets.link()
        self.assertEqual((self.of(self.own) / "static" / "index.html").read_text(), "index.html")
        self.assertEqual(sorted(os.listdir(mine.parent)), ["b.json", "mine.json"])
        replaced = mine.parent / "b.json"  # as pip does
        replaced.unlink()
        replaced.write_text("newer")
        self.assertEqual((self.of(self.layer) / "schemas" / "@a" / "b.json").read_text(), "b.json")

    def test_own(self) -> None:
        """Those of an environment with a JupyterLab of its own stay alone."""
        index = self.of(self.own) / "static" / "index.html"
        index.parent.mkdir(parents=True)
        index.write_text("own")
        assets.link()
        self.assertEqual(sorted(os.listdir(self.of(self.own))), ["static"])

    def test_none(self) -> None:
        with mock.patch.object(sys, "path", []):
            assets.link()
        self.assertFalse(self.own.exists())


if __name__ == "__main__":
    unittest.main()
