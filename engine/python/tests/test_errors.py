"""What the caller is shown of an exception: the user's own code, short paths, no secrets and no hidden models."""

import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from loading import interface_of

from seer_worker.interface.scrub import Scrubber
from seer_worker.transport.errors import from_exception

MODELS = [
    {"name": "google/gemma-2-9b", "path": "/models/google--gemma-2-9b", "env_name": "MODEL_GOOGLE_GEMMA_2_9B_PATH", "hidden": True,
     "var_name": "target"},
    {"name": "./tiny", "path": "/models/tiny", "env_name": "MODEL_TINY_PATH", "hidden": True},
    {"name": "org/open-model", "path": "/models/org--open-model", "env_name": "MODEL_ORG_OPEN_MODEL_PATH"},
]


def raised(code, *args, **files):
    """The error of calling f in code, with helper files beside it."""
    with tempfile.TemporaryDirectory(prefix="seer-errors-") as folder:
        for name, text in files.items():
            path = Path(folder, name.replace("__", os.sep) + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        sys.path.insert(0, folder)
        before = set(sys.modules)
        try:
            interface = interface_of(code, MODELS)
            try:
                interface.registry.functions["f"](*args)
            except BaseException as e:
                return from_exception("raised", e, interface.script)
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if getattr(sys.modules[name], "__file__", None) and str(sys.modules[name].__file__).startswith(folder):
                    del sys.modules[name]
    raise AssertionError("nothing was raised")


class Tracebacks(unittest.TestCase):
    def test_only_the_users_own(self):
        error = raised("@expose\ndef f():\n    raise ValueError('no')\n")
        self.assertEqual((error["code"], error["type"], error["message"]), ("raised", "ValueError", "no"))
        self.assertIn('File "interface.py", line 3, in f\n    raise ValueError(\'no\')', error["traceback"])
        self.assertTrue(error["traceback"].endswith("ValueError: no\n"))
        self.assertNotIn("seer_worker", error["traceback"])

    def test_paths_are_those_of_imports(self):
        error = raised("import helper, json\nfrom deep.er import go\n@expose\ndef f():\n    helper.parse('{')\n",
                       helper="import deep.er\ndef parse(text):\n    deep.er.go(text)\n", deep____init__="",
                       deep__er="import json\ndef go(text):\n    json.loads(text)\n")
        for line in ('File "interface.py", line 5, in f', 'File "helper.py", line 3, in parse', 'File "deep/er.py", line 3, in go',
                     'File "json/decoder.py", line'):
            self.assertIn(line, error["traceback"])
        self.assertNotIn(tempfile.gettempdir(), error["traceback"])
        self.assertEqual(error["type"], "json.decoder.JSONDecodeError")

    def test_packages(self):
        code = "import sys\nsys.path.insert(0, sys.path[0] + '/lib/site-packages')\nimport packaged.inner as p\n@expose\ndef f(): p.go()\n"
        error = raised(code, **{"lib__site-packages__packaged__inner": "def go(): raise KeyError('k')"})
        del sys.path[0]
        self.assertIn('File "packaged/inner.py", line 1, in go', error["traceback"])
        self.assertEqual((error["type"], error["message"]), ("KeyError", "'k'"))

    def test_causes_and_contexts(self):
        error = raised('''
            def deepest(): raise KeyError("deepest")
            @expose
            def f():
                try:
                    try:
                        deepest()
                    except KeyError:
                        raise ValueError("context")
                except ValueError as e:
                    raise RuntimeError("outer") from e
        ''')
        self.assertIn("During handling of the above exception", error["traceback"])
        self.assertIn("direct cause", error["traceback"])
        self.assertIn("in deepest", error["traceback"])

    def test_syntax_errors_of_helpers(self):
        error = raised("@expose\ndef f():\n    import broken\n", broken="def f(:\n    pass\n")
        self.assertIn('File "broken.py", line 1', error["traceback"])
        self.assertNotIn(tempfile.gettempdir(), error["traceback"])

    @unittest.skipIf(sys.version_info < (3, 11), "notes and groups came with 3.11")
    def test_notes_and_groups(self):
        error = raised('''
            @expose
            def f():
                one = ValueError("one")
                one.add_note("and a note")
                raise ExceptionGroup("several", [one, ExceptionGroup("inner", [KeyError("two")])])
        ''')
        for text in ("several (2 sub-exceptions)", "ValueError: one", "and a note", "KeyError: 'two'"):
            self.assertIn(text, error["traceback"])
        self.assertEqual(error["type"], "ExceptionGroup")

    def test_exceptions_that_cannot_be_shown(self):
        error = raised("class Odd(Exception):\n    def __str__(self): raise RuntimeError('x')\n@expose\ndef f():\n    raise Odd()\n")
        self.assertIn("cannot be shown", error["message"])
        self.assertEqual(error["type"], "interface.Odd")

    def test_they_are_not_endless(self):
        error = raised("@expose\ndef f():\n    raise ValueError('x' * 10_000_000)\n")
        self.assertLess(len(error["message"]) + len(error["traceback"]), 200_000)
        error = raised("@expose\ndef f():\n    return f()\n")
        self.assertEqual(error["type"], "RecursionError")
        self.assertLess(len(error["traceback"]), 100_000)


class Hiding(unittest.TestCase):
    def setUp(self):
        self.scrubber = Scrubber([("API_KEY", "hunter2-hunter2")], MODELS)

    def test_every_way_to_name_it(self):
        for text in ("google/gemma-2-9b", "gemma-2-9b", "GEMMA_2_9B", "Gemma29B", "/models/google--gemma-2-9b/config.json",
                     "MODEL_GOOGLE_GEMMA_2_9B_PATH", "models--google--gemma-2-9b", "Gemma2ForCausalLM", "from google",
                     "transformers/models/gemma2/modeling_gemma2.py", "./tiny", "'/models/tiny'", "MODEL_TINY_PATH", "TinyModel"):
            with self.subTest(text):
                shown = self.scrubber.text(text)
                self.assertNotRegex(shown.lower(), "gemma|google|tiny")
                self.assertRegex(shown, r"target|\[hidden model\]")

    def test_what_is_left_alone(self):
        for text in ("destiny", "/models/org--open-model", "org/open-model", "a model", "nothing at all", "9b", "models"):
            self.assertEqual(self.scrubber.text(text), text)
        self.assertEqual(Scrubber().text("google/gemma-2-9b"), "google/gemma-2-9b")

    def test_a_sessions_machine_knows_no_name(self):
        text = "Subject 3: the Subjects at /models/subject/x, MODEL_SUBJECT_PATH"
        model = {"name": "subject", "path": "/models/subject", "env_name": "MODEL_SUBJECT_PATH", "var_name": "subject", "hidden": True}
        self.assertEqual(Scrubber(models=[model]).text(text), text)

    def test_in_an_error(self):
        error = raised('''
            class Gemma2ForCausalLM:
                pass
            class GemmaError(Exception):
                pass
            @expose
            def f(path):
                gemma_2_9b = Gemma2ForCausalLM()
                try:
                    open(get_model_path("google/gemma-2-9b") + "/config.json")
                except OSError as e:
                    raise GemmaError("hunter2-hunter2 does not open %s of %s" % (path, gemma_2_9b)) from e
        ''', "/models/google--gemma-2-9b")
        self.assertIn("gemma", str(error).lower())
        shown = self.scrubber.tree(error)
        self.assertNotRegex(str(shown).lower(), "gemma|google|hunter2")
        self.assertIn("[secret API_KEY] does not open target of", shown["message"])
        self.assertEqual(shown["type"], "interface.target")
        self.assertIn("[Errno 2] No such file or directory: 'target/config.json'", shown["traceback"])

    def test_results_say_what_the_function_says(self):
        self.assertEqual(self.scrubber.value("I am Gemma, and the key is hunter2-hunter2"), "I am Gemma, and the key is [secret API_KEY]")


if __name__ == "__main__":
    unittest.main()
