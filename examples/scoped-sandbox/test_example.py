"""Checks the example with the real transformers, without Seer.

$(./prepare) -m unittest -v        (in this folder)
"""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"

HERE = Path(__file__).resolve().parent
MODEL = HERE / "model"


def load(interface: Path, model_name: str) -> types.ModuleType:
    """Runs an interface as Seer does; returns its exposed functions as a module."""
    tools = types.ModuleType("model_tools")

    def expose(function):
        setattr(tools, function.__name__, function)
        return function

    runpy.run_path(
        str(interface),
        init_globals={
            "expose": expose,
            "get_model_path": {model_name: str(MODEL)}.__getitem__,
            "list_configured_models": lambda: [model_name],
        },
    )
    return tools


class TestInterface(unittest.TestCase):
    INFO = {"num_layers": 6, "hidden_size": 384, "vocab_size": 30522}

    def test_ours(self):
        tools = load(HERE / "interface.py", "./model")
        self.assertEqual(tools.get_model_info(), self.INFO)
        vector = tools.get_embedding("hello world")
        self.assertEqual(vector.shape, (384,))
        self.assertTrue(vector.equal(tools.get_embedding("hello world")))

    def test_as_the_guide_has_it(self):
        name = "google/gemma-2-9b"
        tools = load(HERE / "testdata/as-documented/interface.py", name)
        self.assertEqual(tools.get_model_info(), self.INFO)
        result = json.loads(json.dumps(tools.get_embedding("hello world")))
        self.assertEqual(len(result["embedding"]), 384)
        self.assertEqual(result, tools.get_embedding("hello world"))

    def test_long_text_is_cut(self):
        tools = load(HERE / "interface.py", "./model")
        self.assertEqual(len(tools.get_embedding("word " * 2000)), 384)


class TestAgent(unittest.TestCase):
    def test_writes_a_report(self):
        tools = load(HERE / "interface.py", "./model")
        output = io.StringIO()
        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            with mock.patch.dict(
                sys.modules, {"model_tools": tools}
            ), mock.patch.object(
                sys, "path", [str(HERE), *sys.path]
            ), contextlib.redirect_stdout(output), self.assertRaises(
                SystemExit
            ) as done:
                runpy.run_path(str(HERE / "agent.py"), run_name="__main__")
            report = Path("outputs/report.md").read_text(encoding="utf-8")
            os.chdir(HERE)
        self.assertEqual(done.exception.code, 0, output.getvalue())
        self.assertIn("- **num_layers**: 6", report)
        self.assertIn("(384 numbers)", report)
        self.assertIn("Yes: every sentence is closer", report)


class TestPrepare(unittest.TestCase):
    def prepare(self, *arguments, **environment):
        return subprocess.run(
            [str(HERE / "prepare"), *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )

    def test_second_time_does_nothing(self):
        done = self.prepare(str(Path(sys.prefix)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.strip(), str(Path(sys.prefix, "bin/python3")))

    def test_leaves_a_folder_alone_that_it_did_not_make(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "thesis.txt").write_text("mine")
            done = self.prepare(folder)
            self.assertEqual(os.listdir(folder), ["thesis.txt"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("was not made by this script", done.stderr)

    def test_says_what_is_missing_without_apt(self):
        with tempfile.TemporaryDirectory() as folder:
            for tool in (
                "bash",
                "dirname",
                "basename",
                "mkdir",
                "cat",
                "cut",
                "id",
                "sha256sum",
            ):
                self.link(folder, tool)
            failing = Path(folder, "no-torch")
            failing.write_text('#!/bin/sh\n[ "$1" = --version ] || exit 1\n')
            failing.chmod(0o755)
            done = self.prepare(
                str(Path(folder, "new")), PATH=folder, PYTHON=str(failing)
            )
            self.assertFalse(Path(folder, "new").exists())
        self.assertEqual(done.returncode, 1)
        self.assertIn("no PyTorch, and there is no apt-get", done.stderr)

    def link(self, folder, tool):
        found = next(
            Path(place, tool)
            for place in os.get_exec_path()
            if Path(place, tool).exists()
        )
        Path(folder, tool).symlink_to(found)


if __name__ == "__main__":
    unittest.main()
