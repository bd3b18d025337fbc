"""Loading: what comes back when a file cannot be served, and what the file finds when it can."""

import unittest

from harness import Failed, Worker, serve

MODELS = [
    {"name": "google/gemma-2-9b", "path": "/models/google--gemma-2-9b", "env_name": "MODEL_GOOGLE_GEMMA_2_9B_PATH"},
    {"name": "./tiny", "path": "/models/tiny", "env_name": "MODEL_TINY_PATH"},
    {"name": "a/twin", "path": "/models/a--twin", "env_name": "MODEL_A_TWIN_PATH"},
    {"name": "b/twin", "path": "/models/b--twin", "env_name": "MODEL_B_TWIN_PATH"},
    {"name": "org/secret-one", "path": "/models/org--secret-one", "env_name": "MODEL_ORG_SECRET_ONE_PATH",
     "hidden": True, "var_name": "target"},
]


class Failures(unittest.TestCase):
    def failure(self, code, **options):
        with Worker(code, **options) as worker:
            failure = worker.failure()
            self.assertEqual(worker.process.wait(120), 1)
        self.assertEqual(failure.code, "load_failed")
        self.assertNotIn("seer_worker", failure.traceback)
        self.assertNotIn("/code/", failure.traceback)
        return failure

    def test_syntax_error(self):
        failure = self.failure("import os\n\ndef f(:\n    pass\n")
        self.assertEqual(failure.type, "SyntaxError")
        self.assertIn('File "interface.py", line 3', failure.traceback)
        self.assertIn("def f(:", failure.traceback)
        self.assertIn("interface.py, line 3", failure.message)

    def test_import_error(self):
        failure = self.failure("\nimport nothing_of_that_name\n")
        self.assertEqual(failure.type, "ModuleNotFoundError")
        self.assertIn('File "interface.py", line 2, in <module>', failure.traceback)
        self.assertEqual(failure.message, "No module named 'nothing_of_that_name' (interface.py, line 2)")

    def test_exception_in_a_helper_shows_both_files(self):
        failure = self.failure("import helper\nhelper.go()\n", files={"helper.py": "def go():\n    raise RuntimeError('deep')\n"})
        self.assertEqual(failure.message, "deep (interface.py, line 2)")
        self.assertIn('File "interface.py", line 2, in <module>\n    helper.go()', failure.traceback)
        self.assertIn("raise RuntimeError('deep')", failure.traceback)

    def test_chained_exceptions_keep_their_causes(self):
        failure = self.failure("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('outer') from e\n")
        self.assertIn("direct cause", failure.traceback)
        self.assertIn("ZeroDivisionError", failure.traceback)

    def test_exit(self):
        failure = self.failure("import sys\nsys.exit(3)\n")
        self.assertEqual(failure.type, "SystemExit")
        self.assertEqual(failure.message, "it called exit(3) while it was loaded (interface.py, line 2)")

    def test_keyboard_interrupt_of_its_own(self):
        self.assertEqual(self.failure("raise KeyboardInterrupt\n").type, "KeyboardInterrupt")

    def test_nothing_exposed(self):
        failure = self.failure("def f():\n    pass\n")
        self.assertEqual(failure.message, "interface.py exposes nothing; put @expose above the functions that may be called")

    def test_duplicate_names(self):
        failure = self.failure("@expose\ndef f():\n    pass\n\n@expose\ndef f():\n    pass\n")
        self.assertIn("f is exposed twice, in line 1 and line 5", failure.message)

    def test_what_cannot_be_exposed(self):
        for code, reason in (
            ("class A:\n    @expose\n    def f(self):\n        pass\n", "A.f is a method"),
            ("@expose\nclass A:\n    pass\n", "A is none"),
            ("expose(lambda: 1)\n", "write it with def"),
            ("expose(3)\n", "int is none"),
        ):
            with self.subTest(code):
                self.assertIn(reason, self.failure(code).message)

    def test_the_name_of_a_module_of_python(self):
        self.assertIn("rename the file", self.failure("@expose\ndef f():\n    pass\n", filename="json.py").message)

    def test_bytes_that_are_no_text(self):
        self.assertEqual(self.failure(b"x = '\xff\xfe'\n").type, "SyntaxError")

    def test_unknown_model(self):
        failure = self.failure("get_model_path('nope')\n", models=MODELS)
        self.assertIn("'nope' is not configured; configured: google/gemma-2-9b, ./tiny", failure.message)
        self.assertNotIn("secret-one", failure.message)
        self.assertIn("interface.py, line 1", failure.message)

    def test_a_secret_in_the_error(self):
        failure = self.failure("import os\nraise ValueError(os.environ['API_KEY'])\n", secrets={"API_KEY": "hunter2-hunter2"})
        self.assertIn("[secret API_KEY]", failure.message)
        self.assertNotIn("hunter2", str(failure.error))

    def test_stop_while_it_loads_for_ever(self):
        with Worker("while True:\n    pass\n") as worker:
            worker.tell({"t": "stop"})
            self.assertEqual(worker.process.wait(120), 0)


class Namespace(unittest.TestCase):
    def test_exactly_these_names(self):
        code = """
            import builtins
            before = sorted(n for n in globals() if not n.startswith("__") and n != "builtins")
            extra = sorted(n for n in dir(builtins) if n in ("expose", "get_dataset_path", "get_model_path", "list_configured_models"))
            @expose
            def names():
                return [before, extra, __name__]
        """
        with serve(code) as worker:
            names = ["expose", "get_dataset_path", "get_model_path", "list_configured_models"]
            self.assertEqual(worker.connect().call("names"), [names, [], "interface"])

    def test_models(self):
        code = """
            import os
            @expose
            def path(name): return get_model_path(name)
            @expose
            def dataset(name): return get_dataset_path(name)
            @expose
            def models(): return list_configured_models()
            @expose
            def env(): return os.environ["MODEL_GOOGLE_GEMMA_2_9B_PATH"]
        """
        with serve(code, models=MODELS) as worker:
            peer = worker.connect()
            for name in ("google/gemma-2-9b", "gemma-2-9b"):
                self.assertEqual(peer.call("path", name), "/models/google--gemma-2-9b")
            for name in ("./tiny", "tiny"):
                self.assertEqual(peer.call("path", name), "/models/tiny")
            self.assertEqual(peer.call("path", "org/secret-one"), "/models/org--secret-one")
            with self.assertRaisesRegex(Exception, "means more than one model"):
                peer.call("path", "twin")
            self.assertEqual(peer.call("env"), "/models/google--gemma-2-9b")
            with self.assertRaisesRegex(Exception, "the dataset 'tiny' is not configured; add it to `datasets:`"):
                peer.call("dataset", "tiny")
            listed = peer.call("models")
            self.assertEqual(listed[0]["name"], "google/gemma-2-9b")
            self.assertEqual(listed[-1], {"hidden": True, "name": "target", "var_name": "target"})
            self.assertEqual(peer.call("path", "target"), "/models/org--secret-one")

    def test_datasets(self):
        code = """
            import os
            @expose
            def path(name): return get_dataset_path(name), os.environ["DATASET_ORG_SET_PATH"]
        """
        datasets = [{"name": "org/set", "path": "/datasets/org--set", "env_name": "DATASET_ORG_SET_PATH"}]
        with serve(code, datasets=datasets) as worker:
            peer = worker.connect()
            for name in ("org/set", "set"):
                self.assertEqual(peer.call("path", name), ["/datasets/org--set"] * 2)
            with self.assertRaisesRegex(Exception, "the dataset './tiny' is not configured; configured: org/set"):
                peer.call("path", "./tiny")

    def test_the_file_is_a_module_like_any_other(self):
        code = """
            import dataclasses, inspect, pickle, sys
            @dataclasses.dataclass
            class Point:
                x: int
            @expose
            def check():
                again = pickle.loads(pickle.dumps(Point(3)))
                return [again.x, "class Point:" in inspect.getsource(Point), sys.modules["my_tools"].Point is Point]
        """
        with serve(code, filename="my_tools.py") as worker:
            self.assertEqual(worker.interface["module"], "my_tools")
            self.assertEqual(worker.connect().call("check"), [3, True, True])

    def test_helpers_beside_it_and_in_the_workspace(self):
        code = """
            import os, helper
            @expose
            def where(): return [helper.NAME, os.getcwd()]
        """
        with serve(code, files={"helper.py": "from interface import get_model_path\nNAME = get_model_path.__name__\n"}) as worker:
            self.assertEqual(worker.connect().call("where"), ["get_model_path", str(worker.workdir)])

    def test_state_is_kept(self):
        with serve("seen = []\n@expose\ndef add(x):\n    seen.append(x)\n    return seen\n") as worker:
            worker.connect().call("add", 1)
            self.assertEqual(worker.connect().call("add", 2), [1, 2])

    def test_what_it_prints_stays_out_of_the_protocol(self):
        code = "import sys\nprint('at load')\n@expose\ndef f():\n    print('in call')\n    print('err', file=sys.stderr)\n    return 1\n"
        with serve(code) as worker:
            self.assertEqual(worker.connect().call("f"), 1)
            for text in ("at load", "in call", "err"):
                self.assertIn(text, worker.printed())


class Shown(unittest.TestCase):
    """What callers are told, by a real worker."""

    CODE = """
        from typing import List
        ran = []
        print("loading", get_model_path("org/secret-one"))
        @expose
        def search(texts: List[str], top_k: int = 5, where=get_model_path("org/secret-one")):
            ran.append(texts)
            return "SecretOne says " + str(len(ran))
        @expose
        def fail():
            class SecretOneError(Exception): pass
            raise SecretOneError("no weights in " + get_model_path("org/secret-one"))
    """

    def test_arguments_are_checked_before_the_function_runs(self):
        with serve(self.CODE, models=MODELS) as worker:
            peer = worker.connect()
            for args, message in (((["a", None],), "search: texts[1] must be a str, and is None"),
                                  ((["a"], "five"), 'search: top_k must be an int, and is "five" (str)')):
                with self.assertRaises(Failed) as caught:
                    peer.call("search", *args)
                self.assertEqual((caught.exception.code, caught.exception.message), ("bad_arguments", message))
            self.assertEqual(peer.call("search", ["a"]), "SecretOne says 1")

    def test_hidden_models_have_no_name(self):
        with serve(self.CODE, models=MODELS) as worker:
            with self.assertRaises(Failed) as caught:
                worker.connect().call("fail")
            self.assertEqual((caught.exception.type, caught.exception.message), ("interface.fail.<locals>.target", "no weights in target"))
            for shown in (str(worker.interface), str(caught.exception.error)):
                self.assertIn("target", shown)
                self.assertNotRegex(shown.lower(), "secret-?one")


class Edits(unittest.TestCase):
    """An edited file in a living worker, as the runtime tells it."""

    CODE = """
        import os
        loads = []
        def load(): loads.append(os.getpid())
        load()
        @expose
        def state(add: int = 1):
            return [len(loads), add]
    """

    def edit(self, worker, old, new, generation):
        code = worker.path.read_text()
        edited = worker.path.with_name("edited-%d.py" % generation)
        edited.write_text(code.replace(old, new))
        worker.tell({"t": "reload", "filename": "interface.py", "path": str(edited), "generation": generation})
        return worker.heard()

    def test_kept_and_not(self):
        with serve(self.CODE) as worker:
            peer = worker.connect()
            self.assertEqual(peer.call("state"), [1, 1])
            kept = self.edit(worker, "add: int = 1", "add: int = 7, more: str = ''", 2)
            self.assertEqual((kept["t"], kept["kept"], len(kept["interface"]["functions"][0]["params"])), ("ready", True, 2))
            self.assertEqual(peer.call("state", more="x"), [1, 7])
            refused = self.edit(worker, "loads = []", "loads = [0]", 3)
            self.assertEqual((refused["t"], refused["reason"]), ("kept_not", "line 3 runs while the file is loaded, and has changed"))
            broken = self.edit(worker, "return [", "return [[", 4)
            self.assertEqual(broken["t"], "kept_not")
            self.assertIn("(interface.py, line ", broken["reason"])
            self.assertEqual(peer.call("state"), [1, 7])


if __name__ == "__main__":
    unittest.main()
