"""Functions that are served."""

import importlib
import os
import sys

from seer import ConfigError, ServiceError
from seer._engine import engine, loop
from seer.environment import ScopedSandbox
from support import PATIENCE, Case

TOOLS = """
    @expose
    def where() -> str:
        "The machine of this sandbox."
        import os
        return os.environ["SEER_MACHINE"]
"""


class TestServe(Case):
    def test_library(self):
        sandbox = self.start(ScopedSandbox)
        file = self.write("doubles.py", """
            @expose
            def double(x: int) -> int:
                "Twice <as> much."
                return 2 * x
        """)
        library = sandbox.serve(file_path=file)
        self.assertIn("Twice &lt;as&gt; much.", library._repr_html_())
        self.assertFalse(hasattr(library, "_ipython_display_") or hasattr(library, "_repr_png_"))
        self.assertNotIn("doubles", sys.modules)  # displaying it imports nothing
        self.assertEqual((library.name, library.functions), ("doubles", ["double"]))
        self.assertEqual(library.double(21), 42)
        import doubles

        self.assertIs(library.module, doubles)
        self.assertEqual(doubles.double(4), 8)
        self.assertIn("double", dir(library))
        with self.assertRaises(AttributeError):
            library.triple(1)
        self.assertIn("double", sandbox.serve(str(file), expose_as="prompt", name="told"))
        servers = sandbox.serve(file, expose_as="mcp", name="spoken")
        self.assertEqual(servers["spoken"]["args"][0], "mcp")
        for wrong, said in (((), "is missing"), ((file,), "is given twice")):
            with self.assertRaisesRegex(ConfigError, f"serve.file: {said}"):
                sandbox.serve(*wrong, **({"file_path": file} if wrong else {}))
        with self.assertRaisesRegex(ConfigError, "serve.file: must be a text or a path, not int"):
            sandbox.serve(7)

    def test_one_name_in_two_sandboxes(self):
        file = self.write("model_tools.py", TOOLS)
        sandboxes = [self.start(ScopedSandbox) for _ in range(2)]
        first = sandboxes[0].serve(file)
        machine = first.where()
        second = sandboxes[1].serve(file)
        other = second.where()
        self.assertNotEqual(machine, other)
        self.assertEqual((first.where(), second.where()), (machine, other))
        import model_tools

        self.assertEqual(model_tools.where(), other)
        unused = sandboxes[0].serve(file)  # is the newest, and is imported when another one is
        second = sandboxes[1].serve(file)
        import model_tools

        self.assertEqual((unused.where(), second.where(), model_tools.where()), (machine, other, other))
        self.assertIs(model_tools, second.module)
        self.assertEqual(sum(os.path.isdir(os.path.join(p, "model_tools")) for p in sys.path), 1)

    def test_edited_file(self):
        sandbox = self.start(ScopedSandbox)
        one = sandbox.serve(self.write("edited.py", "@expose\ndef f():\n    return 1\n"))
        self.assertEqual(importlib.import_module("edited").f(), 1)
        two = sandbox.serve(self.write("edited.py", "@expose\ndef g():\n    return 2\n"))
        self.assertEqual((two.g(), importlib.import_module("edited").g()), (2, 2))
        with self.assertRaises(AttributeError):
            two.f()
        self.assertEqual(one.functions, ["f"])

    def test_module_of_the_program(self):
        """A module that the program has itself stays, and the library is still what is served."""
        (self.dir / "own").mkdir()
        self.write("own/mine.py", "def f():\n    return 'mine'\n")
        sys.path.insert(0, str(self.dir / "own"))
        self.addCleanup(sys.path.remove, str(self.dir / "own"))
        mine = importlib.import_module("mine")
        library = self.start(ScopedSandbox).serve(self.write("mine.py", "@expose\ndef f():\n    return 'served'\n"))
        self.assertEqual((library.f(), mine.f()), ("served", "mine"))
        self.assertIs(importlib.import_module("mine"), mine)

    def test_mode_of_a_file(self):
        """An execution mode in a file counts as little as one in code."""
        file = self.write("seer.yaml", """
            sandbox: {provider: local, execution_mode: cli, timeout: 10m, local_files: [[seer.yaml, /data/x]]}
        """)
        with ScopedSandbox.from_file(file) as sandbox:
            mode = loop.wait(engine().call("sandbox.open", {"sandbox": sandbox.sandbox_id})).get("execution_mode")
            self.assertIn(mode, ("", None))
            self.assertEqual(sandbox.read_file("/data/x"), file.read_bytes())
        wrong = self.write("wrong.yaml", "sandbox: {provider: local, timeot: 10m}\n")
        with self.assertRaisesRegex(ConfigError, "did you mean `timeout"):
            ScopedSandbox.from_file(wrong).start()

    def test_file_that_does_not_load(self):
        wrong = self.write("wrong.py", "import no_such_module\n")
        with self.assertRaises(ServiceError) as caught:
            self.start(ScopedSandbox).serve(wrong)
        self.assertIn("no_such_module", str(caught.exception))

    def test_fork(self):
        """A child that ends leaves the files of its parent."""
        library = self.start(ScopedSandbox).serve(self.write("forked.py", TOOLS.replace("where", "here")))
        child, line = self.program(f"""
            import os, sys
            from pathlib import Path
            from seer.environment import ScopedSandbox
            library = ScopedSandbox.from_id({library._served!r}).serve({str(self.dir / "forked.py")!r})
            pid = os.fork()
            if pid == 0:
                sys.exit()
            os.waitpid(pid, 0)
            print(library.here(), flush=True)
        """)
        self.assertEqual((line, child.wait(PATIENCE)), (library.here(), 0))
