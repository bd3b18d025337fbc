"""Notebooks that people save while the service works on them; notebooks that are run again."""

import json
import os
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List
from urllib.parse import quote

from harness import Failed, Server, until

server: Server


def setUpModule() -> None:
    global server
    server = Server()


def tearDownModule() -> None:
    if server.close() != 0:
        raise AssertionError("".join(server.log))


def read(path: Any) -> Dict[str, Any]:
    return json.loads(path.read_text())


def write(path: Any, notebook: Dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(notebook))
    os.replace(part, path)


def source(cell: Dict[str, Any]) -> str:
    return "".join(cell["source"])


class AsJupyter(unittest.TestCase):
    def contents(self, path: str) -> Dict[str, Any]:
        with server.open("GET", "/api/contents/" + quote(path)) as answer:
            return json.loads(answer.read())

    def test_copies_are_what_jupyter_itself_writes(self) -> None:
        session = server.new("as Jupyter é")
        server.run(session, "from IPython.display import display, HTML\nprint('é\\n日')\ndisplay(HTML('<script>draw()</script>'))\n1/0")
        server.add(session, "# text\n\nmore", type="markdown", run=False)
        path = server.path(session)
        until(lambda: "more" in path.read_text(), "the saved notebook")
        with server.open("GET", "/seer/v1/sessions/%s/notebook" % session) as answer:
            ours = answer.read()
        relative = str(path.relative_to(server.root))
        model = self.contents(relative)
        self.assertEqual([c["metadata"].get("trusted") for c in model["content"]["cells"]], [False, None])  # a person says so
        del model["content"]["metadata"]["seer"]
        body = {"type": "notebook", "format": "json", "content": model["content"]}
        with server.open("PUT", "/api/contents/copy.ipynb", body) as answer:
            self.assertEqual(answer.status, 201, answer.read())
        self.assertEqual(ours, (server.root / "copy.ipynb").read_bytes())
        # Nor does a file that says so itself.
        whole = read(path)
        whole["cells"].append({**whole["cells"][0], "id": "foreign", "metadata": {"trusted": True}})
        write(path, whole)
        until(lambda: len(server.cells(session)) == 3, "the cell of another")
        server.run(session, "'after it'")
        until(lambda: "after it" in path.read_text() and "foreign" in path.read_text(), "the saved notebook")
        self.assertNotIn(True, [c["metadata"].get("trusted") for c in self.contents(relative)["content"]["cells"]])

    def test_only_notebooks_lie_in_the_users_folder(self) -> None:
        session = server.new("alone")
        server.run(session, "1")
        until(lambda: not [p for p in server.root.rglob(".*") if p.suffix != ".part"], "no hidden file")
        with server.open("POST", "/api/contents/%s/checkpoints" % quote(str(server.path(session).relative_to(server.root))), {}) as answer:
            self.assertEqual(answer.status, 201)
        self.assertEqual(list(server.root.rglob("*checkpoint*")), [])

    def test_a_session_that_is_asked_for_twice_is_one(self) -> None:
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda n: server.ask("POST", "/sessions", {"mode": "new", "name": "once", "key": "k1"}), range(3)))
        self.assertEqual(len({a["session"]["id"] for a in answers}), 1)
        self.assertEqual(len([s for s in server.ask("GET", "/sessions")["sessions"] if s["name"] == "once"]), 1)
        for _ in range(2):  # what was refused may be asked for again
            with self.assertRaises(Failed):
                server.ask("POST", "/sessions", {"mode": "resume", "path": "none.ipynb", "key": "k2"})


class Saved(unittest.TestCase):
    def test_what_both_have_done_stays(self) -> None:
        session = server.new("both")
        for code in ("a = 1; print('one')", "b = 2", "c = 3"):
            server.run(session, code)
        path = server.path(session)
        until(lambda: "c = 3" in path.read_text(), "the saved notebook")
        theirs = read(path)  # a person opens it
        late = server.add(session, "import time\nprint('ours', flush=True)\ntime.sleep(1)\nprint('late')")
        until(lambda: "late" in path.read_text(), "the saved cell")
        first, second, third = theirs["cells"]
        first["source"] = "a = 'edited'"
        theirs["cells"] = [third, first, {"id": "person", "cell_type": "markdown", "metadata": {}, "source": "# mine"}]
        write(path, theirs)
        cells = server.cells(session)
        self.assertEqual([c["source"] for c in cells if c["id"] != late["cell"]["id"]], ["c = 3", "a = 'edited'", "# mine"])
        self.assertIn(late["cell"]["id"], [c["id"] for c in cells])
        self.assertEqual(next(c for c in cells if c["source"] == "a = 'edited'")["outputs"][0]["text"], "one\n")
        server.ended(late["execution"]["id"])
        # It is all in the file, too, and what an editor writes that knows no marks counts as the latest.
        both = {"person", late["cell"]["id"]}
        until(lambda: both <= {c["id"] for c in read(path)["cells"]} and "late\\n" in path.read_text(), "the joined notebook")
        whole = read(path)
        whole["metadata"] = {}
        whole["cells"] = whole["cells"][:1]
        write(path, whole)
        self.assertEqual([c["source"] for c in server.cells(session)], ["c = 3"])

    def test_a_file_that_is_broken_or_gone(self) -> None:
        session = server.new("broken")
        server.run(session, "print('kept')")
        path = server.path(session)
        until(lambda: "kept" in path.read_text(), "the saved notebook")
        path.write_text("{half a note")
        self.assertEqual(len(server.cells(session)), 1)
        until(lambda: path.exists() and "kept" in path.read_text(), "the notebook again")
        self.assertEqual([p.read_text() for p in path.parent.glob("*unreadable*")], ["{half a note"])
        path.unlink()
        server.run(session, "print('more')")
        until(lambda: path.exists() and "more" in path.read_text(), "the notebook again")

    def test_the_disk_refuses(self) -> None:
        folder = server.root / "own"
        folder.mkdir()
        write(folder / "a.ipynb", {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        session = server.ask("POST", "/sessions", {"mode": "resume", "path": "own/a.ipynb"})["session"]["id"]
        folder.rename(server.root / "away")
        folder.write_text("nothing can be saved here")
        self.assertEqual(server.run(session, "print('still runs')")["state"], "done")
        until(lambda: "could not be saved" in server.ask("GET", "/sessions/" + session)["message"], "the message")
        folder.unlink()
        until(lambda: (folder / "a.ipynb").exists() and "still runs" in (folder / "a.ipynb").read_text(), "the saved notebook")
        until(lambda: not server.ask("GET", "/sessions/" + session)["message"], "the end of the message")


class Again(unittest.TestCase):
    def notebook(self, name: str, sources: List[str]) -> str:
        cells = [{"cell_type": "code", "execution_count": 9, "metadata": {}, "outputs": [], "source": s.splitlines(True)} for s in sources]
        cells.insert(1, {"cell_type": "markdown", "metadata": {}, "source": ["# text"]})
        folder = server.root / "früher é"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
        return "früher é/" + name

    def test_resume_goes_on_after_errors(self) -> None:
        path = self.notebook("a b.ipynb", ["x = 1", "1/0", "print(x)", "  "])
        made = server.ask("POST", "/sessions", {"mode": "resume", "path": path})
        self.assertEqual(made["session"]["path"], path)
        ended = server.ended(made["execution"]["id"])
        self.assertEqual((ended["state"], ended["restored"]["cells"]), ("done", 3))
        self.assertEqual([(e["index"], e["ename"]) for e in ended["restored"]["errors"]], [(2, "ZeroDivisionError")])
        cells = server.cells(made["session"]["id"])
        self.assertEqual([c["execution_count"] for c in cells if c["type"] == "code"], [1, 2, 3, 9])
        self.assertEqual(cells[3]["outputs"][0]["text"], "1\n")
        with self.assertRaises(Failed) as caught:
            server.ask("POST", "/sessions", {"mode": "resume", "path": path})
        self.assertEqual(caught.exception.code, "conflict")
        server.ask("DELETE", "/sessions/" + made["session"]["id"])
        self.assertIn("1\\n", (server.root / path).read_text())

    def test_continue_works_on_a_copy(self) -> None:
        sources = ["print('begun', flush=True)", "import time; time.sleep(600)", "y = 2"]
        path = self.notebook("2020-01-02-03-04_mine_continued.ipynb", sources)
        before = (server.root / path).read_text()
        made = server.ask("POST", "/sessions", {"mode": "continue", "path": str(server.root / path)})
        self.assertRegex(made["session"]["path"], r"^notebooks/[\d-]+_mine_continued\.ipynb$")
        next(e for e in server.events(made["execution"]["id"]) if "cell 2 of 3" in str(e))
        server.ask("DELETE", "/executions/" + made["execution"]["id"])
        ended = server.ended(made["execution"]["id"])
        self.assertEqual(ended["state"], "interrupted")
        self.assertTrue(ended["text"].startswith("begun\n"), ended["text"])  # older kernels add words of their own
        self.assertEqual((server.root / path).read_text(), before)
        self.assertEqual(server.run(made["session"]["id"], "print('y' in dir())")["text"], "False\n")

    def test_names_that_are_taken(self) -> None:
        paths = {server.path(server.new("same")) for _ in range(2)}
        self.assertEqual(len(paths), 2)


if __name__ == "__main__":
    unittest.main()
