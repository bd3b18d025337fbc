"""Requests that meet while sessions begin and end. Jupyter and its kernels are fakes, which wait until a test lets them go on."""

import asyncio
import logging
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seer_notebook.errors import Refused
from seer_notebook.http import cells
from seer_notebook.kernel import kernel, requests
from seer_notebook.sessions.service import Service
from seer_notebook.sessions.session import Session
from seer_notebook.settings import Settings, SetupCell

LIMIT = 60.0  # seconds: what has not come by then never will


class Gate:
    """A place that tells when somebody comes, and may hold them."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()
        self.open.set()

    async def passes(self) -> None:
        self.reached.set()
        await self.open.wait()

    async def come(self) -> None:
        """Returns when somebody has come."""
        await asyncio.wait_for(self.reached.wait(), LIMIT)

    def hold(self) -> None:
        self.reached.clear()
        self.open.clear()


class Kernels(Dict[str, Any]):
    """Jupyter's manager of kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.begin, self.end, self.code, self.made = Gate(), Gate(), Gate(), 0

    def get_kernel(self, name: str) -> Any:
        return self[name]

    async def start_kernel(self, kernel_id: str = "", **_: Any) -> str:
        await self.begin.passes()
        self.made += 1
        name = kernel_id or "k%d" % self.made
        await self.restart_kernel(name, True)
        return name

    async def restart_kernel(self, name: str, now: bool) -> None:
        await self.begin.passes()
        process = SimpleNamespace(pid=0, returncode=None, poll=lambda: None)
        ready = asyncio.get_running_loop().create_future()
        ready.set_result(None)
        self[name] = SimpleNamespace(provisioner=SimpleNamespace(process=process), shutting_down=False, ready=ready)

    async def shutdown_kernel(self, name: str, now: bool) -> None:
        await self.end.passes()
        self.pop(name, None)


class JupyterSessions:
    def __init__(self) -> None:
        self.end = Gate()

    async def list_sessions(self) -> List[Any]:
        return []

    async def create_session(self, **_: Any) -> Dict[str, Any]:
        return {"id": "j"}

    async def delete_session(self, name: str) -> None:
        await self.end.passes()


async def connect(self: Any) -> None:
    self._process, self.alive, self._ends = self._manager[self.id].provisioner.process, True, False


async def run(self: Any, code: str, heard: Any, **_: Any) -> Any:
    """Code that does not end by itself."""
    self.check()
    self._manager.code.reached.set()
    request = self._requests[code] = requests.Request(heard)
    return await request.done


class Meeting(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        for what, fake in (("_connect", connect), ("run", run)):
            patch = mock.patch.object(kernel.Kernel, what, fake)
            patch.start()
            self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kernels, self.jupyter = Kernels(), JupyterSessions()
        app = SimpleNamespace(log=logging.getLogger("fakes"), kernel_manager=self.kernels, session_manager=self.jupyter,
                              event_logger=mock.Mock(), extension_manager=None, contents_manager=None)
        app.log.disabled = True
        self.service = Service(app, Settings(folder.name, "", "", 0, ""), folder.name)

    async def prepared(self) -> Session:
        found: Session = (await self.service.open("prepare", "", ""))["session"]
        return found

    def notebook(self) -> mock.Mock:
        found = mock.Mock(path="a.ipynb", close=mock.AsyncMock(), refresh=mock.AsyncMock(), flush=mock.AsyncMock())
        found.cell.return_value = {"cell_type": "code", "source": "a cell"}
        found.ids.return_value = ["c"]
        return found


class Ending(Meeting):
    async def test_what_runs_has_an_end_where_the_kernel_was_shut_down_in_the_browser_just_now(self) -> None:
        session = await self.prepared()
        session.document = self.notebook()
        self.service._replay(session)
        await self.kernels.code.come()
        self.kernels.clear()
        await self.service.shut(session)
        self.assertEqual([(e.state, e.log.closed) for e in self.service.executions.values()], [("dead", True)] * 2)

    async def test_nothing_is_given_to_a_session_whose_kernel_ends(self) -> None:
        session = await self.prepared()
        session.document = notebook = self.notebook()
        self.kernels.end.hold()
        shut = asyncio.ensure_future(self.service.shut(session))
        await self.kernels.end.come()
        for give in (lambda: session.enqueue(self.service.execution(session, None, "x")), lambda: cells.document(session)):
            with self.assertRaises(Refused) as caught:
                give()
            self.assertEqual(caught.exception.code, "not_found")
        with mock.patch.object(self.service, "_create"):
            made = await self.service.open("new", "another", "")
        self.assertIsNot(made["session"], session)
        self.kernels.end.open.set()
        await shut
        notebook.close.assert_awaited_once()

    async def test_where_a_renamed_notebook_is_gets_asked_while_there_is_a_kernel(self) -> None:
        session = await self.prepared()
        session.document = self.notebook()
        alive: List[bool] = []

        async def refresh() -> None:
            alive.append(bool(self.kernels))
            raise OSError("it cannot be read")

        session.document.refresh = refresh
        await self.service.shut(session)
        self.assertEqual((alive, self.kernels), ([True], {}))

    async def test_a_server_that_ends_saves_all_notebooks_before_any_kernel_has_ended(self) -> None:
        sessions = [await self.prepared() for _ in range(3)]
        for session in sessions:
            session.document = self.notebook()
        sessions[1].kernel.stop = mock.AsyncMock(side_effect=OSError("it cannot be ended"))
        self.kernels.end.hold()
        stop = asyncio.ensure_future(self.service.stop())
        await self.kernels.end.come()
        for session in sessions:
            session.document.flush.assert_awaited_once()
        self.kernels.end.open.set()
        await stop
        self.assertEqual([s.document.close.await_count for s in sessions], [1, 0, 1])

    async def test_a_notebook_that_is_made_meanwhile_is_closed(self) -> None:
        creating, notebook = Gate(), self.notebook()
        creating.hold()

        async def create(session: Session, *_: Any) -> None:
            await creating.passes()
            session.document = notebook

        with mock.patch.object(self.service, "_create", create):
            opened = asyncio.ensure_future(self.service.open("new", "n", ""))
            await creating.come()
            await self.service.shut(next(iter(self.service.sessions.values())))
            creating.open.set()
            with self.assertRaises(Refused):
                await opened
        notebook.close.assert_awaited_once()
        self.assertEqual((self.service.sessions, self.kernels), ({}, {}))

    async def test_a_restart_makes_no_kernel_of_a_session_that_ends(self) -> None:
        session = await self.prepared()
        session.jupyter_session = "j"
        self.jupyter.end.hold()
        shut = asyncio.ensure_future(self.service.shut(session))
        await self.jupyter.end.come()
        with self.assertRaises(Refused) as caught:
            await session.restart(True)
        self.assertEqual(caught.exception.code, "not_found")
        self.jupyter.end.open.set()
        await shut
        self.assertEqual(self.kernels, {})

    async def test_nor_does_one_that_waited_for_another(self) -> None:
        session = await self.prepared()
        self.kernels.begin.hold()
        restarts = [asyncio.ensure_future(session.restart(True)) for _ in range(2)]
        await self.kernels.begin.come()
        await self.service.shut(session)
        self.kernels.begin.open.set()
        for restart in restarts:
            with self.assertRaises(Refused):
                await restart
        self.assertEqual((session.state, self.kernels), ("closed", {}))


class Beginning(Meeting):
    async def test_a_notebook_that_is_being_resumed_is_taken(self) -> None:
        (Path(self.service.settings.root) / "a.ipynb").touch()

        async def resume() -> Session:
            found: Session = (await self.service.open("resume", "", "a.ipynb"))["session"]
            return found

        with mock.patch.object(self.service, "_read"), mock.patch.object(self.service, "_document") as document:
            document.side_effect = [OSError("the first one fails"), self.notebook()]
            with self.assertRaises(Refused):
                await resume()
            self.kernels.begin.hold()
            first, second = asyncio.ensure_future(resume()), asyncio.ensure_future(resume())
            await self.kernels.begin.come()
            self.kernels.begin.open.set()
            found = await asyncio.gather(first, second, return_exceptions=True)
        self.assertEqual([type(f) for f in found], [Session, Refused])
        self.assertEqual((found[1].code, list(self.service.sessions.values())), ("conflict", found[:1]))

    async def test_set_ups_come_one_after_the_other(self) -> None:
        fails = Gate()
        fails.hold()

        async def prepare(*_: Any) -> Dict[str, Any]:
            if self.service.settings.setup[0].name == "wrong":
                await fails.passes()
                raise Refused("failed", "the set-up has failed")
            return {"session": None}

        with mock.patch.object(self.service, "open", prepare):
            wrong = asyncio.ensure_future(self.service.set_up([SetupCell("wrong", "")]))
            await fails.come()
            right = asyncio.ensure_future(self.service.set_up([SetupCell("right", "")]))
            fails.open.set()
            await asyncio.gather(wrong, right, return_exceptions=True)
        self.assertEqual([c.name for c in self.service.settings.setup], ["right"])

    async def test_a_set_up_ends_no_session_that_was_taken_meanwhile(self) -> None:
        _, taken = await self.prepared(), await self.prepared()
        self.kernels.end.hold()
        set_up = asyncio.ensure_future(self.service.set_up([]))
        await self.kernels.end.come()
        with mock.patch.object(self.service, "_create"):
            made = await self.service.open("new", "n", "")
        self.assertIs(made["session"], taken)
        self.kernels.end.open.set()
        await set_up
        self.assertEqual(taken.state, "idle")


if __name__ == "__main__":
    unittest.main()
