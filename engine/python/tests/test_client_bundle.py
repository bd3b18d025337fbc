"""The modules of the client make one file, which any Python since 3.8 can import without a cost."""

import ast
import collections
import json
import subprocess
import sys
import unittest

import bundle


def defined(tree: ast.Module):
    """The names that a module gives a meaning at its top level, imports aside."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


class Bundle(unittest.TestCase):
    def test_no_name_means_two_things(self):
        found = collections.Counter(name for module in bundle.modules() for name in set(defined(ast.parse(module.read_text()))))
        self.assertEqual([name for name, times in found.items() if times > 1], [])
        self.assertGreater(len(found), 100)

    def test_every_module_of_the_client_is_in_it(self):
        there = {path.name for path in (bundle.PYTHON / "seer_client").glob("*.py")}
        self.assertEqual({path.name for path in bundle.modules() if path.parent.name == "seer_client"}, there)

    def test_it_is_python_3_8_and_needs_nothing(self):
        tree = ast.parse(bundle.text(), feature_version=(3, 8))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self.assertEqual(node.level, 0, ast.dump(node))
        outside = [name for name in imported(tree.body) if name not in sys.stdlib_module_names]
        self.assertEqual(outside, [])

    def test_importing_it_loads_little_and_connects_to_nothing(self):
        code = ("import sys; sys.path.insert(0, %r); import client, json; client.Library('/nowhere/x.py');"
                "print(json.dumps(sorted(sys.modules)))" % str(bundle.FOLDER))
        loaded = json.loads(subprocess.check_output([sys.executable, "-S", "-c", code], text=True, timeout=60))
        for slow in ("http.client", "ssl", "asyncio", "email", "urllib.request", "threading", "queue", "numpy"):
            self.assertNotIn(slow, loaded)

    def test_it_is_importable_where_there_are_no_unix_sockets(self):
        code = ("import sys, socket, select, os; sys.path.insert(0, %r)\n"
                "for m, names in ((socket, ('AF_UNIX', 'MSG_DONTWAIT')), (select, ('poll', 'epoll')), (os, ('fork', 'O_PATH'))):\n"
                "    [delattr(m, n) for n in names if hasattr(m, n)]\n"
                "import client\n"
                "import json; file = dict(version=1, sandbox='sb-1', service='s', endpoint='unix:/x', token='t')\n"
                "json.dump(file, open('c.json', 'w'))\n"
                "try: client.Client('c.json').call('f')\nexcept client.Unreachable as e: print(e)\n" % str(bundle.FOLDER))
        out = subprocess.check_output([sys.executable, "-c", code], cwd=bundle.FOLDER, text=True, timeout=60)
        self.assertIn("no Unix sockets", out)


def imported(body):
    for node in body:
        if isinstance(node, ast.Import):
            yield from (a.name.split(".")[0] for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


if __name__ == "__main__":
    unittest.main()
