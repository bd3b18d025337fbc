"""Edits of an interface in a living worker: what is taken over, what is not, and that the model is loaded once."""

import sys
import traceback
import unittest

from loading import FOLDER, interface_of

from seer_worker.interface.changes import NotSafe
from seer_worker.interface.describe import describe
from seer_worker.interface.load import LoadFailed
from seer_worker.interface.reload import reload

CODE = '''\
"""Tools."""
import functools
import json

loaded = []


def load_model():
    """Loads it."""
    loaded.append(1)
    return {"weights": [1, 2, 3]}


def prepared(model):
    return tidy(model)


def tidy(model):
    return model


class Wrapper:
    def __init__(self, model):
        self.model = model

    def run(self, x):
        return inside(x)


def inside(x):
    return x


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper


hooks = []


def hook(f):
    hooks.append(f)
    return f


model = prepared(load_model())
wrapped = Wrapper(model)
count = 0


@expose
def add(a: int, b: int = 1) -> int:
    """Adds."""
    global count
    count += 1
    return helper(a) + b


def helper(a):
    return a


@expose
@logged
def total() -> int:
    return sum(model["weights"])


@expose
@hook
def hooked() -> int:
    return 1


@expose
def fails():
    raise ValueError("here")


if __name__ == "__main__":
    print("as a script")
'''


class Reload(unittest.TestCase):
    def setUp(self):
        self.interface = interface_of(CODE)
        self.module = self.interface.module
        self.interface.registry.functions["add"](1)

    def edit(self, *replacements, code=None):
        code = self.interface.script.source if code is None else code
        for old, new in replacements:
            self.assertIn(old, code)
            code = code.replace(old, new)
        path = FOLDER / "edited.py"
        path.write_text(code)
        self.interface = reload(self.interface, str(path))
        return {f["name"]: f for f in describe(self.interface)["functions"]}

    def call(self, name, *args):
        args, kwargs = self.interface.binders[name].bind(args, {})
        return self.interface.registry.functions[name](*args, **kwargs)

    def assertKept(self, count=1):
        self.assertEqual((self.module.loaded, self.module.count), ([1], count))

    def refused(self, reason, *replacements):
        before = dict(vars(self.module)), self.interface
        with self.assertRaises(NotSafe) as caught:
            self.edit(*replacements)
        self.assertRegex(str(caught.exception), reason)
        self.assertEqual((dict(vars(self.module)), self.interface), before)
        self.assertEqual(self.call("total"), 6)
        self.assertEqual(len(self.module.loaded), 1)

    # --- taken over

    def test_the_body_of_a_function(self):
        self.edit(("return helper(a) + b", "return helper(a) + b + 100"))
        self.assertEqual(self.call("add", 1), 102)
        self.assertKept(2)  # add counted on from where it was

    def test_a_helper_of_a_function(self):
        self.edit(("def helper(a):\n    return a", "def helper(a):\n    return a * 10"))
        self.assertEqual(self.call("add", 2), 21)

    def test_a_signature(self):
        functions = self.edit(("a: int, b: int = 1", "a: str, b: str = 'b', *, c: bool = True"))
        self.assertEqual([p["annotation"] for p in functions["add"]["params"]], ["str", "str", "bool"])
        self.assertEqual(self.call("add", "a"), "ab")

    def test_new_functions_are_in_their_place(self):
        functions = self.edit(("@expose\n@logged", "@expose(concurrent=True)\ndef new(x: int) -> int:\n    return later(x)\n\n\n"
                               "def later(x):\n    return -x\n\n\n@expose\n@logged"))
        self.assertEqual(list(functions), ["add", "new", "total", "hooked", "fails"])
        self.assertEqual((functions["new"]["concurrent"], self.call("new", 3)), (16, -3))
        self.assertKept()

    def test_removed_functions(self):
        functions = self.edit(("@expose\ndef fails():\n    raise ValueError(\"here\")\n", ""))
        self.assertEqual(list(functions), ["add", "total", "hooked"])
        self.assertFalse(hasattr(self.module, "fails"))
        self.assertKept()

    def test_no_longer_exposed(self):
        functions = self.edit(("@expose\ndef fails", "def fails"))
        self.assertNotIn("fails", functions)
        self.assertTrue(callable(self.module.fails))

    def test_a_decorated_function(self):
        self.edit(('return sum(model["weights"])', 'return max(model["weights"])'))
        self.assertEqual(self.call("total"), 3)
        self.assertKept()

    def test_imports(self):
        self.edit(("import json\n", "import math\nfrom collections import OrderedDict as OD\n"),
                  ("    return helper(a) + b", "    return math.floor(a) + b"))
        self.assertEqual(self.call("add", 1), 2)
        self.assertFalse(hasattr(self.module, "json"))
        self.assertKept(2)

    def test_comments_texts_and_what_never_runs(self):
        functions = self.edit(('"""Tools."""', '"""Better tools."""\n# with a comment'), ('"as a script"', '"as another"'),
                              ('"""Loads it."""', '"""Loads it once."""'), ("    loaded.append", "    # why not\n    loaded.append"))
        self.assertEqual(describe(self.interface)["doc"], "Better tools.")
        self.assertEqual(self.module.load_model.__doc__, "Loads it once.")
        lines = self.interface.script.source.splitlines()
        for name, function in functions.items():
            self.assertIn("def %s(" % name, lines[function["line"] - 1])
        self.assertKept()

    def test_tracebacks_have_the_new_lines(self):
        self.edit(("import json\n", "import json\n\n\n# three lines\n"))
        try:
            self.call("fails")
        except ValueError as e:
            shown = self.interface.script.traceback(e)
            line = traceback.extract_tb(e.__traceback__)[-1].lineno
        self.assertEqual(self.interface.script.source.splitlines()[line - 1].strip(), 'raise ValueError("here")')
        self.assertIn('File "interface.py", line %d, in fails\n    raise ValueError("here")' % line, shown)

    def test_again_and_again(self):
        for n in range(5):
            code = CODE.replace("return helper(a) + b", "return helper(a) + b + %d" % n)
            code = code.replace("import json\n", "import json\n" + "\n" * n)
            self.edit(code=code)
            self.assertEqual(self.call("add", 1), 2 + n)
        self.assertKept(6)

    def test_a_global_that_a_function_has_set(self):
        self.edit(("    count += 1", "    count += 10"))
        self.call("add", 1)
        self.assertKept(11)

    def test_the_hash_is_of_the_new_file(self):
        before = self.interface.code_hash
        self.edit(("return helper(a) + b", "return helper(a) - b"))
        self.assertNotEqual(self.interface.code_hash, before)
        self.edit(code=CODE)
        self.assertEqual(self.interface.code_hash, before)

    # --- not taken over

    def test_what_runs_while_it_is_loaded(self):
        self.refused(r"^line 51 runs while the file is loaded, and has changed$", ("count = 0", "count = 1"))
        self.refused(r"^line 52 runs while the file is loaded, and is new$", ("count = 0\n", "count = 0\nother = 1\n"))
        self.refused(r"^line 51 of the old file ran while it was loaded, and is gone$", ("count = 0\n", ""))

    def test_what_the_top_reaches(self):
        self.refused(r"^load_model has changed, and was used while the file was loaded \(line 49\)$", ("[1, 2, 3]", "[1, 2, 4]"))
        self.refused(r"^tidy has changed, and was used", ("def tidy(model):\n    return model", "def tidy(model):\n    return dict(model)"))
        self.refused(r"^inside has changed, and was used", ("def inside(x):\n    return x", "def inside(x):\n    return -x"))
        self.refused(r"^logged has changed, and was used", ("return f(*args, **kwargs)\n", "return f(*args)\n"))
        self.refused(r"^functools has changed, and was used", ("import functools", "import math as functools"))

    def test_a_class(self):
        self.refused(r"^class Wrapper has changed \(line 22\)$", ("self.model = model", "self.model = None"))

    def test_a_decorator_that_does_more(self):
        self.refused(r"^hooked has changed, and its decorator hook may do more than wrap it \(line \d+\)$",
                     ("def hooked() -> int:\n    return 1", "def hooked() -> int:\n    return 2"))

    def test_a_default_that_is_computed(self):
        self.refused(r"was used while the file was loaded|a default calls load_model", ("a: int, b: int = 1", "a: int, b=load_model()"))
        self.refused(r"^add has changed, and a default calls open", ("a: int, b: int = 1", "a: int, b=open('/dev/null')"))

    def test_a_name_that_is_not_only_a_function(self):
        self.refused(r"^line \d+ runs while the file is loaded, and is new", ("def helper(a):\n    return a", "helper = abs"))
        self.refused(r"^helper has changed, and is not only defined in line \d+$",
                     ("@expose\n@logged", "def helper(a):\n    return 1\n\n\n@expose\n@logged"))

    def test_futures(self):
        self.refused("^from __future__ import has changed$", ('"""Tools."""\n', '"""Tools."""\nfrom __future__ import annotations\n'))

    def test_a_module_that_has_imported_it(self):
        other = sys.modules["seer_test_other"] = type(sys)("seer_test_other")
        self.addCleanup(sys.modules.pop, "seer_test_other")
        other.borrowed = self.module.helper
        self.refused("^helper has changed, and the module seer_test_other has imported it$",
                     ("def helper(a):\n    return a", "def helper(a):\n    return 3"))

    def test_what_looks_names_up(self):
        code = "def run():\n    return globals().get('f')\nrun()\n@expose\ndef f():\n    return 1\n"
        self.interface = interface_of(code)
        with self.assertRaisesRegex(NotSafe, r"line 3 runs while the file is loaded and uses globals\(\)"):
            self.edit(("return 1", "return 2"))

    def test_wrong_uses_of_expose(self):
        self.refused("batch=0", ("@expose\ndef add", "@expose(batch=0)\ndef add"))
        self.refused("must be a list", ("@expose\ndef add", "@expose(batch=2)\ndef add"))

    def test_syntax_errors(self):
        before = self.interface
        with self.assertRaises(LoadFailed) as caught:
            self.edit(("return helper(a) + b", "return helper(a) +"))
        self.assertEqual(caught.exception.error["type"], "SyntaxError")
        self.assertIn('File "interface.py", line 59', caught.exception.error["traceback"])
        self.assertIs(self.interface, before)
        self.assertEqual(self.call("add", 1), 2)


if __name__ == "__main__":
    unittest.main()
