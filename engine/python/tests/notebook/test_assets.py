"""JupyterLab's files of a layer are found."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import harness  # noqa: F401 (finds the service)
from jupyter_core.paths import jupyter_path
from traitlets.config import Config

from seer_notebook.server import assets


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

    def found(self, **more: str) -> dict:
        config = Config()
        config.LabApp.update(more)
        assets.find(config)
        return dict(config.LabApp)

    def test_found(self) -> None:
        lab = self.found()
        self.assertEqual((lab["app_dir"], lab["app_settings_dir"]), (str(self.of(self.layer)), str(self.of(self.own) / "settings")))
        self.assertEqual(self.found(app_dir="/mine")["app_dir"], "/mine")

    def test_linked(self) -> None:
        """A layer that brings its own JupyterLab is seen through links, which are not served."""
        index = self.of(self.own) / "static" / "index.html"
        index.parent.mkdir(parents=True)
        index.symlink_to(self.of(self.layer) / "static" / "index.html")
        self.assertEqual(self.found()["app_dir"], str(self.of(self.layer)))

    def test_own(self) -> None:
        """Those of an environment with a JupyterLab of its own stay alone."""
        index = self.of(self.own) / "static" / "index.html"
        index.parent.mkdir(parents=True)
        index.write_text("own")
        self.assertEqual(self.found(), {})

    def test_extensions(self) -> None:
        """Those of layers come after what was installed into the environment itself."""
        folder = self.layer / "share" / "jupyter" / "labextensions"
        folder.mkdir()
        paths = self.found()["labextensions_path"]
        self.assertEqual(paths, jupyter_path("labextensions") + [str(folder)])

    def test_none(self) -> None:
        with mock.patch.object(sys, "path", []):
            self.assertEqual(self.found(), {})


if __name__ == "__main__":
    unittest.main()
