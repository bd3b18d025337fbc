"""Functions that are served."""

import sys

from seer import ServiceError
from seer.environment import ScopedSandbox
from support import Case


class TestServe(Case):
    def test_library(self):
        tools = self.write("model_tools.py", """
            @expose
            def double(x: int) -> int:
                "Twice as much."
                return 2 * x
        """)
        sandbox = self.start(ScopedSandbox)
        library = sandbox.serve(tools)
        self.assertEqual((library.name, library.functions), ("model_tools", ["double"]))
        self.assertEqual(library.double(21), 42)
        import model_tools

        self.addCleanup(sys.modules.pop, "model_tools")
        self.assertEqual(model_tools.double(4), 8)
        self.assertIn("double", dir(library))
        with self.assertRaises(AttributeError):
            library.triple(1)
        self.assertIn("double", sandbox.serve(str(tools), expose_as="prompt", name="told"))
        servers = sandbox.serve(tools, expose_as="mcp", name="spoken")
        self.assertEqual(servers["spoken"]["args"][0], "mcp")

    def test_file_that_does_not_load(self):
        wrong = self.write("wrong.py", "import no_such_module\n")
        with self.assertRaises(ServiceError) as caught:
            self.start(ScopedSandbox).serve(wrong)
        self.assertIn("no_such_module", str(caught.exception))
