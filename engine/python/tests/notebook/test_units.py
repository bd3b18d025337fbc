"""What can be tried without a server, with much that is random: limits, merging."""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Dict, List
from unittest import mock

import jupyter_client
import nbformat
import zmq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seer_notebook import settings
from seer_notebook.document import document, file, merge, paths, saving
from seer_notebook.execution.events import Budget, Log
from seer_notebook.execution.execution import Execution
from seer_notebook.execution.outputs import KEPT, Outputs
from seer_notebook.kernel import messages
from seer_notebook.kernel.requests import Died
from seer_notebook.sessions import setup_code, store


class Pieces(unittest.TestCase):
    def test_long_texts_come_whole(self) -> None:
        rnd = random.Random(5)
        letters = ["a", "\\", '"', "\n", "é", "日", "\U0001f600", "\x1b", "\ud83d", "\ude00", "u00e9"]
        for _ in range(2000):
            text = "".join(rnd.choice(letters) for _ in range(rnd.randrange(60)))
            for ascii_only in (True, False):
                inside = json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass")
                found = list(messages.pieces(memoryview(inside), rnd.randrange(20, 40)))
                whole = "".join(found)
                self.assertEqual(whole.encode("utf-16", "surrogatepass"), text.encode("utf-16", "surrogatepass"))
                if "\ud83d" not in text:
                    self.assertNotIn("\ud83d", whole)

    def test_no_other_message_is_taken_for_one(self) -> None:
        session = jupyter_client.session.Session(key=b"key")
        long = "x\n" * messages.LARGE
        for kind, content in (("stream", {"name": "stdout", "text": long}), ("stream", {"text": long, "name": "stderr"}),
                              ("display_data", {"data": {"text/plain": long}}), ("stream", {"name": "stdout", "text": long, "more": 1})):
            sent = session.serialize(session.msg(kind, content), ident=b"stream.stdout")
            found = list(messages.read(session, [zmq.Frame(part) for part in sent]))
            self.assertEqual({m["header"]["msg_type"] for m in found}, {kind})
            if len(found) > 1:
                self.assertEqual("".join(m["content"]["text"] for m in found), long)
                self.assertLessEqual(max(len(m["content"]["text"]) for m in found), messages.PIECE)
            else:
                self.assertEqual(found[0]["content"], content)
            with self.assertRaises(ValueError):
                list(messages.read(jupyter_client.session.Session(key=b"other"), [zmq.Frame(part) for part in sent]))
        sent = session.serialize(session.msg("stream", {"name": "stdout", "text": long}))
        self.assertGreater(len(list(messages.read(session, [zmq.Frame(part) for part in sent]))), 10)


class Late(unittest.TestCase):
    def test_the_grammar_of_addresses_is_made_when_it_is_asked_for(self) -> None:
        """In an interpreter of its own, which has imported nothing yet, with the real packages."""
        code = """if True:
            import sys
            sys.path.insert(0, %r)
            from seer_notebook.server import late
            late.syntax()
            import seer_notebook.server.server
            import jsonschema
            assert "jsonschema._format" in sys.modules
            assert "rfc3987_syntax.syntax_helpers" not in sys.modules
            checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
            assert checker.conforms("http://ex\u00e4mple.org/a", "iri")
            assert not checker.conforms("http://a b", "iri")
            assert "rfc3987_syntax.syntax_helpers" in sys.modules
            import rfc3987_syntax
            assert rfc3987_syntax.is_valid_syntax is rfc3987_syntax.syntax_helpers.is_valid_syntax
        """ % str(Path(__file__).resolve().parents[2])
        subprocess.run([sys.executable, "-B", "-c", code], check=True)
        other = code.split("import seer_notebook.server.server")[0] + """
            from rfc3987_syntax import is_valid_syntax_iri
            import rfc3987_syntax.utils
            assert is_valid_syntax_iri("a:b")
        """
        subprocess.run([sys.executable, "-B", "-c", other], check=True)


    def test_many_ask_at_once_and_again_after_a_failure(self) -> None:
        """With a package in its place that takes its time, and fails at first."""
        with tempfile.TemporaryDirectory(prefix="late \u00e9 ") as folder:
            package = Path(folder) / "rfc3987_syntax"
            package.mkdir()
            (package / "__init__.py").write_text("from .helpers import *\n")
            (package / "helpers.py").write_text("""if True:
                import builtins, time
                builtins.made += 1
                time.sleep(0.2)  # others come meanwhile
                from . import other
                if builtins.made == 1:
                    raise ImportError("no memory")
                def is_valid_syntax(text): return text == "a"
                def is_valid_syntax_iri(text): return text == "b"
            """)
            (package / "other.py").write_text("")
            code = """if True:
                import builtins, sys, threading
                sys.path[:0] = [%r, %r]
                from concurrent.futures import ThreadPoolExecutor
                from seer_notebook.server import late
                late.syntax()
                import rfc3987_syntax
                first = rfc3987_syntax.is_valid_syntax
                builtins.made = 0
                try:
                    first("a")
                    raise SystemExit("it has not failed")
                except ImportError as e:
                    assert str(e) == "no memory", e
                line = threading.Barrier(16)
                def ask(n):
                    line.wait()
                    return first("a") if n %% 2 else rfc3987_syntax.is_valid_syntax_iri("b")
                with ThreadPoolExecutor(16) as pool:
                    assert all(pool.map(ask, range(16)))
                assert builtins.made == 2, builtins.made
                assert not hasattr(rfc3987_syntax, "nothing") and not hasattr(rfc3987_syntax, "__getattr__")
            """ % (str(Path(__file__).resolve().parents[2]), folder)
            subprocess.run([sys.executable, "-B", "-c", code], check=True, timeout=300)


class Interrupting(unittest.TestCase):
    def test_it_is_answered_when_what_ran_has_ended(self) -> None:
        from seer_notebook.sessions import session as module

        async def ask(patience: float, ends: bool) -> bool:
            service = SimpleNamespace(settings=SimpleNamespace(root="/"), kernels=None, log=None, kernel_env=dict)
            session, sent = module.Session("s", service, "title"), asyncio.Event()

            async def interrupt() -> None:
                sent.set()

            session.kernel = SimpleNamespace(foreign_busy=False, interrupt=interrupt)
            session.running = running = SimpleNamespace(interrupt=False)
            with mock.patch.object(module, "INTERRUPT", patience):
                asked = asyncio.ensure_future(session.interrupt())
                await sent.wait()
                await asyncio.sleep(0.1)
                early = asked.done()
                if ends:
                    session.running = None
                await asked
            return early or not running.interrupt

        self.assertFalse(asyncio.run(ask(1e9, True)), "it was answered while the cell ran")
        self.assertTrue(asyncio.run(ask(0.0, False)), "code that goes on is waited for")


class DyingKernel:
    """Says what it is told to, and dies when it has run so many requests."""

    def __init__(self, lives: int, says: str = "") -> None:
        self.lives, self.says = lives, says

    async def run(self, code: str, heard: Any, silent: bool = False, expressions: Any = None) -> Dict[str, Any]:
        self.lives -= 1
        failed = bool(code and self.says)
        if failed:
            heard("error", {"ename": self.says, "evalue": "'x'", "traceback": []})
        if self.lives < 0:
            raise Died("the kernel was killed by signal 6")
        return {"status": "error", "ename": self.says, "evalue": "'x'"} if failed else {"status": "ok"}


class SetUp(unittest.TestCase):
    def test_the_error_of_the_user_counts_and_not_the_death_after_it(self) -> None:
        for hidden in (False, True):
            for lives in (0, 1, 2):
                told: List[Any] = []
                cell = settings.SetupCell("model", "code", hidden)
                with self.subTest(hidden=hidden, lives=lives), self.assertRaises(Exception) as caught:
                    asyncio.run(setup_code.run(DyingKernel(lives + hidden, "KeyError"), [cell], told.extend))  # type: ignore[arg-type]
                self.assertIsInstance(caught.exception, setup_code.Failed)
                self.assertIn("KeyError: 'x'", str(caught.exception))
                self.assertEqual([r["ok"] for r in told], [False])
        with self.assertRaises(Died):
            asyncio.run(setup_code.run(DyingKernel(0), [settings.SetupCell("model", "code", False)], lambda _: None))  # type: ignore[arg-type]


class FirstKernel(unittest.TestCase):
    def test_kernels_are_found_as_jupyter_finds_them_and_nothing_else_is_read(self) -> None:
        code = """if True:
            import sys
            from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
            from jupyter_client.provisioning import KernelProvisionerFactory
            from traitlets.config import Application
            from seer_notebook.server import starting
            app = Application()
            app.kernel_spec_manager = KernelSpecManager()
            starting.prepare(app)
            factory = KernelProvisionerFactory.instance(parent=app)
            assert type(factory) is starting.Provisioners
            assert app.kernel_spec_manager.get_kernel_spec("python3").language == "python"
            assert factory.is_provisioner_available(KernelSpec(metadata={}))
            assert "IPython" not in sys.modules
            assert app.kernel_spec_manager.kernel_dirs == KernelSpecManager().kernel_dirs
            assert not factory.is_provisioner_available(KernelSpec(metadata={"kernel_provisioner": {"provisioner_name": "none"}}))
            assert factory.provisioners["local-provisioner"].load().__name__ == "LocalProvisioner"
        """
        for more in ({}, {"IPYTHONDIR": tempfile.gettempdir()}):
            env = {**os.environ, **more, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
            done = subprocess.run([sys.executable, "-B", "-c", code], env=env, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr.decode())


class Lost(unittest.TestCase):
    def test_what_is_missing_is_said(self) -> None:
        counter, session = messages.Counter(), jupyter_client.session.Session()
        for n in range(300):
            header = session.msg("stream")["header"]
            if n not in range(40, 60) and n not in range(100, 190):
                self.assertEqual(counter.missing(header), 90 if n == 190 else 0)
        self.assertEqual(counter.missing(jupyter_client.session.Session().msg("status")["header"]), 0)
        self.assertEqual(counter.missing({"msg_id": "of another kind"}), 0)

        async def told() -> str:
            execution = Execution("e", "s", "c", "", Budget(), tempfile.gettempdir())
            execution.heard("lost", {"count": 90})
            return str(execution.log.since(1)[0]["text"])

        self.assertIn("about 90 messages", asyncio.run(told()))


class Limits(unittest.TestCase):
    def test_head_and_tail_are_kept(self) -> None:
        rnd = random.Random(3)
        for _ in range(20):
            outputs, whole = Outputs("there"), ""
            for _ in range(rnd.randrange(1, 30)):
                piece = rnd.choice("aé日") * rnd.randrange(1, 200_000)
                whole += piece
                outputs.stream(rnd.choice(["stdout", "stderr"]), piece)
            outputs.seal()
            text = "".join(o["text"] for o in outputs.plain())
            if len(whole.encode()) <= KEPT:
                self.assertEqual(text, whole)
            else:
                self.assertTrue(outputs.cut and whole.startswith(text[:100_000]) and whole.endswith(text[-100_000:]))
                self.assertLess(len(text.encode()), KEPT + 200)

    def test_events_that_are_gone_are_said(self) -> None:
        async def check() -> None:
            log = Log(Budget(), "elsewhere", limit=1000)
            for n in range(10):
                log.add("output", 100, number=n)
            found = log.since(1)
            self.assertEqual((found[0]["t"], found[-1]["n"]), ("note", 10))
            self.assertEqual([e["n"] for e in found], list(range(found[0]["n"], 11)))
            self.assertEqual(log.since(11), [])

        asyncio.run(check())


class Merging(unittest.TestCase):
    def test_nothing_that_is_new_is_lost(self) -> None:
        rnd = random.Random(5)

        def cell(name: str, text: str) -> dict:
            return {"id": name, "cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}

        for _ in range(2000):
            names = list("abcdef")[: rnd.randrange(7)]
            base = [cell(n, n) for n in names]
            seen = {c["id"]: merge.Seen(c["source"], "code", "{}", merge.digest(c), 1, 0) for c in base}
            ours = [cell(c["id"], rnd.choice([c["source"], "ours"])) for c in base if rnd.random() < 0.8] + [cell("new1", "x")]
            theirs = [cell(c["id"], rnd.choice([c["source"], "theirs"])) for c in base if rnd.random() < 0.8] + [cell("new2", "y")]
            rnd.shuffle(theirs)
            found = {c["id"]: c["source"] for c in merge.merge(seen, ours, theirs, 1, [])}
            self.assertTrue({"new1", "new2"} <= set(found))
            for c in theirs:
                if c["source"] == "theirs":
                    self.assertEqual(found[c["id"]], "theirs")
            for c in ours:
                if c["source"] == "ours":
                    self.assertIn(found[c["id"]], ("ours", "theirs"))


class Closing(unittest.TestCase):
    def test_a_saving_that_has_begun_ends_first(self) -> None:
        async def close_while_it_saves() -> bool:
            begun, go_on = asyncio.Event(), asyncio.Event()

            async def save() -> None:
                begun.set()
                await go_on.wait()

            with mock.patch.object(document, "SAVE", 0.0):
                notebook = document.Document(lambda message: None)
                notebook.save = save
                notebook.touched()
                await begun.wait()
                closed = asyncio.ensure_future(notebook.close())
                await asyncio.sleep(0.1)
                early = closed.done()
                go_on.set()
                await closed
            return early

        self.assertFalse(asyncio.run(close_while_it_saves()), "the notebook counted as closed before its file was written")

    def test_nothing_is_written_after_it(self) -> None:
        async def change_late() -> Any:
            notebook = document.Document(lambda message: None)
            await notebook.close()
            notebook.touched()
            return notebook._saver

        self.assertIsNone(asyncio.run(change_late()), "a change after the close is saved")


class Saving(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.jupyter_path = Path(folder.name), "a.ipynb"
        self.write("a.ipynb", "first")

        async def get(path: str, **_: Any) -> Any:
            return {"content": nbformat.read(self.root / path, as_version=4)}

        async def moved() -> str:
            return self.jupyter_path

        patch = mock.patch.object(document, "SAVE", 1e9)  # nothing is saved by itself
        patch.start()
        self.addCleanup(patch.stop)
        self.notebook = file.FileDocument(SimpleNamespace(get=get), folder.name, "a.ipynb", lambda problem: None, list, moved)
        await self.notebook.load()

    def write(self, name: str, *sources: str) -> None:
        cells = [{**document.new_cell("code", source), "id": source} for source in sources]
        (self.root / name).write_text(saving.as_jupyter_writes({**document.new_notebook(), "cells": cells}))

    def files(self) -> Dict[str, List[str]]:
        return {p.name: [c.source for c in nbformat.read(p, as_version=4).cells] for p in self.root.iterdir()}

    def rename(self) -> None:
        """As Jupyter does it in a browser."""
        (self.root / "a.ipynb").rename(self.root / "b.ipynb")
        self.jupyter_path = "b.ipynb"

    async def test_a_rename_is_followed_where_nobody_asks_for_the_notebook(self) -> None:
        self.rename()
        self.notebook.insert(1, document.new_cell("code", "ours"))
        await self.notebook.flush()
        self.assertEqual((self.files(), self.notebook.path), ({"b.ipynb": ["first", "ours"]}, "b.ipynb"))

    async def test_a_rename_of_which_jupyter_learns_later_is_followed(self) -> None:
        self.rename()
        self.notebook._moved = mock.AsyncMock(side_effect=["a.ipynb", "b.ipynb"])
        self.notebook.insert(1, document.new_cell("code", "ours"))
        with mock.patch.object(file, "RENAMED", 1e9):
            await self.notebook.flush()
        self.assertEqual((self.files(), self.notebook.path), ({"b.ipynb": ["first", "ours"]}, "b.ipynb"))

    async def test_a_file_that_changes_all_the_time_is_no_endless_work(self) -> None:
        self.notebook.insert(1, document.new_cell("code", "ours"))
        with mock.patch.object(file, "write", lambda *_: None), self.assertRaisesRegex(RuntimeError, "changes all the time"):
            await self.notebook.save()
        await self.notebook.flush()
        self.assertEqual(self.files(), {"a.ipynb": ["first", "ours"]})

    async def test_half_a_character_is_replaced(self) -> None:
        self.notebook.insert(1, document.new_cell("raw", "\ud83d half"))
        await self.notebook.flush()
        self.assertEqual(self.files(), {"a.ipynb": ["first", "? half"]})

    async def meanwhile(self, do: Callable[[], None]) -> None:
        """Saves a cell of ours, and does that while the text of the file is made."""
        text, turns = saving.as_jupyter_writes, [do]

        def made(content: Any) -> str:
            while turns:
                turns.pop()()
            return text(content)

        self.notebook.insert(1, document.new_cell("code", "ours"))
        with mock.patch.object(saving, "as_jupyter_writes", made):
            await self.notebook.flush()

    async def test_what_somebody_saves_during_a_saving_stays(self) -> None:
        await self.meanwhile(lambda: self.write("a.ipynb", "first", "theirs"))
        self.assertEqual({k: sorted(v) for k, v in self.files().items()}, {"a.ipynb": ["first", "ours", "theirs"]})

    async def test_a_rename_during_a_saving_is_followed(self) -> None:
        await self.meanwhile(self.rename)
        self.assertEqual((self.files(), self.notebook.path), ({"b.ipynb": ["first", "ours"]}, "b.ipynb"))


class Shared(unittest.TestCase):
    def test_a_saving_of_which_the_room_only_logs_that_it_failed_is_one_that_failed(self) -> None:
        """With fakes of jupyter-collaboration, which need not be installed."""
        fakes = {name: mock.MagicMock() for name in ("jupyter_ydoc", "jupyter_ydoc.utils", "pycrdt")}
        with mock.patch.dict(sys.modules, fakes):
            from seer_notebook.document.shared import SharedDocument

        async def said(works: bool) -> List[str]:
            told: List[str] = []
            notebook = SharedDocument(None, "a.ipynb", told.append)
            notebook._nb = nb = SimpleNamespace(dirty=False)

            async def save(saving: Any, save_now: bool) -> None:
                nb.dirty = nb.dirty and not works  # as it says it: it raises nothing

            notebook._room = SimpleNamespace(_update_lock=asyncio.Lock(), _maybe_save_document=save)
            with mock.patch.object(document, "SAVE", 1e9):
                notebook.touched()
                await notebook.close()
            return told

        self.assertEqual(asyncio.run(said(True)), [""])
        self.assertIn("could not be saved", asyncio.run(said(False))[0])


class Texts(unittest.TestCase):
    def test_a_notebook_is_joined_from_its_cells_as_jupyter_writes_it(self) -> None:
        rnd = random.Random(5)
        words = ["", "a\n", "\u2028\r\n", '"\\\x00', "é\x1b[31m", '\n ],\n "metadata": {}']
        for _ in range(300):
            cells = []
            for n in range(rnd.randrange(4)):
                text = "".join(rnd.choice(words) for _ in range(rnd.randrange(5)))
                data = {"text/html": text, "image/png": "aGk=\n", "application/json": {"cells": [text]}}
                outputs = [{"output_type": "stream", "name": "stdout", "text": text},
                           {"output_type": "display_data", "metadata": {}, "data": data}]
                common = {"id": "c%d" % n, "metadata": {"trusted": True, text: [text]}, "source": text}
                cells.append(rnd.choice([
                    {**common, "cell_type": "code", "execution_count": n, "outputs": outputs},
                    {**common, "cell_type": "markdown", "attachments": {"a.png": {"image/png": text}}}]))
            whole = {"cells": cells, "metadata": {"kernelspec": {"name": "é"}, "cells": []}, "nbformat": 4, "nbformat_minor": 5}
            said = saving.joined([saving.cell_text(c) for c in cells], whole["metadata"])
            self.assertEqual(said, nbformat.writes(nbformat.from_dict(whole), version=nbformat.NO_CONVERT) + "\n")


class Known(unittest.TestCase):
    def test_a_file_that_was_cut_says_what_was_before(self) -> None:
        with tempfile.TemporaryDirectory(prefix="n é ") as folder:
            path, keeper = Path(folder) / store.FILE, store.Keeper(folder)
            for n in range(4000):  # several files one after the other
                kernel = SimpleNamespace(id="k%d" % n, pid=n, begin="1")
                session = SimpleNamespace(id="s", title="é", path="p", document=None, created=1.0, kernel=kernel)
                keeper.save([session], [SimpleNamespace(id="e", session="s", cell=None, queued=1.0, started=0.0, state="running")])
                if n % 97 == 0:
                    self.assertEqual(store.load(str(path))["sessions"][0]["pid"], n)
            self.assertLess(path.stat().st_size, 2 * store.MOST)
            written = path.read_bytes()
            for cut in range(len(written) - 400, len(written)):
                path.write_bytes(written[:cut])
                self.assertGreaterEqual(store.load(str(path))["sessions"][0]["pid"], 3990)
            path.write_bytes(b"")
            self.assertEqual(store.load(str(path)), {})
            keeper.close()

    def test_a_full_disk_is_survived(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            keeper = store.Keeper(folder)
            keeper.save([], [])
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, keeper._fd)
            os.close(full)
            keeper.save([], [])
            keeper.save([], [SimpleNamespace(id="later", session="s", cell=None, queued=1.0, started=0.0, state="running")])
            self.assertEqual(store.load(str(Path(folder) / store.FILE))["executions"][0]["id"], "later")
            keeper.close()


    def test_a_disk_that_is_full_while_the_file_begins_anew_takes_nothing_away(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            keeper = store.Keeper(folder)
            known = [SimpleNamespace(id="known", session="s", cell=None, queued=1.0, started=0.0, state="running")]
            keeper.save([], known)
            keeper.close()
            real = os.write
            with mock.patch.object(os, "write", lambda fd, data: real(fd, data[:20])):  # as Linux says it
                keeper.save([], [])
            self.assertEqual(store.load(str(Path(folder) / store.FILE))["executions"][0]["id"], "known")
            keeper.save([], [])
            self.assertEqual(store.load(str(Path(folder) / store.FILE))["executions"], [])
            keeper.close()


class Parsing(unittest.TestCase):
    def test_no_configuration_breaks_it(self) -> None:
        rnd = random.Random(1)
        with tempfile.TemporaryDirectory() as root:
            good = json.dumps({"root": root, "ip": "127.0.0.1", "port": 1, "token": "0123456789abcdef",
                               "setup": [{"name": "a", "code": "b"}]}).encode()
            settings.parse(good)
            for _ in range(3000):
                data = bytearray(good)
                for _ in range(rnd.randrange(1, 4)):
                    data[rnd.randrange(len(data))] = rnd.choice(b'{}[]",:0a\xff')
                try:
                    settings.parse(bytes(data))
                except settings.Mistake:
                    pass

    def test_names_of_files(self) -> None:
        self.assertEqual([paths.file_name(n) for n in ("", "..", "a/b", "é 日", "x\n\ty")], ["notebook", "notebook", "a-b", "é 日", "x--y"])
        self.assertLessEqual(len(paths.file_name("日" * 200).encode()), 100)
        self.assertEqual(paths.bare("n/2020-01-02-03-04_a_continued_continued.ipynb"), "a")


if __name__ == "__main__":
    unittest.main()
