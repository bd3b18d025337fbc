"""How objects show themselves in a notebook."""

import unittest

from seer.environment import ExecResult, ModelHandle, Sandbox, SandboxConfig, Snapshot
from seer.workspace import Library, Workspace


def cells(value):
    return value._repr_html_().replace("<table><tr><th>", "").replace("</td></tr></table>", "").split("</td></tr><tr><th>")


class TestHTML(unittest.TestCase):
    def test_objects(self):
        for value, want in (
            (ExecResult(137, "a <b>\n", "", True, True), [
                "Exit code</th><td>137, after its timeout", 'Output</th><td><pre style="text-align: left">a &lt;b&gt;\n</pre>',
                "Note</th><td>more output was not kept",
            ]),
            (ModelHandle("org/m", "/models/m", "model", True, True, "org/base"), [
                "Model</th><td>org/m", "Path</th><td>/models/m", "Variable</th><td>model", "Kind</th><td>adapter of org/base",
                "Hidden</th><td>its name, from the agent",
            ]),
            (Snapshot("after-set-up", "snap-1", "After set-up!"), [
                "Snapshot</th><td>after-set-up", "ID</th><td>snap-1", "Description</th><td>After set-up!",
            ]),
            (Library.from_file("a/helpers.py"), ["Library</th><td>helpers.py", "Path</th><td>a/helpers.py"]),
            (Workspace(libraries=["a.py", Library.from_code("b", "c = 1")], init="x = 1"), [
                "libraries</th><td>a.py<br>&lt;Library b&gt;", "init</th><td>x = 1",
            ]),
        ):
            with self.subTest(type(value).__name__):
                self.assertEqual(cells(value), want)
        self.assertIn("… 5 more characters", ExecResult(0, "x" * 10_005, "")._repr_html_())

    def test_sandbox(self):
        sandbox = Sandbox(SandboxConfig(gpu=None))
        self.assertEqual(sandbox._repr_html_(), "&lt;Sandbox, not started&gt;")
        info = {"id": "sb-x", "state": "running", "provider": "cloud", "gpu": "A100", "gpu_count": 2, "cost": 1.234, "cost_per_hour": 3}
        sandbox._info, sandbox._now = {"id": "sb-x", "environment": {"jupyter_url": "https://x/?a&b"}}, lambda: info
        self.assertEqual(cells(sandbox), [
            "Sandbox</th><td>sb-x", "State</th><td>running", "Provider</th><td>cloud", "GPU</th><td>2 × A100",
            "Cost</th><td>1.23 USD so far, 3.00 USD an hour", 'Jupyter</th><td><a href="https://x/?a&amp;b" target="_blank">open</a>',
        ])
