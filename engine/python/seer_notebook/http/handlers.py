"""The requests of docs/notebook.md, one class for each path."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .. import API, __version__
from ..document.document import TYPES, new_cell, of_type
from ..errors import Refused
from ..execution.execution import Execution
from ..sessions.session import Session
from ..sessions.variables import variables
from . import cells, keys
from .handler import Handler, answers

WAIT = 30.0
LONGEST = 300.0


class Root(Handler):
    @answers
    async def get(self) -> None:
        s = self.service
        self.say({"seer_notebook": API, "version": __version__, "root": s.settings.root, "notebooks_dir": s.settings.notebooks_dir,
                  "collaboration": s.shared() is not None, "sessions": s.list()})


class Sessions(Handler):
    @answers
    async def get(self) -> None:
        self.say({"sessions": self.service.list()})

    @answers
    async def post(self) -> None:
        asked = self.body({"mode": str, "name": str, "path": str, "key": str}, "mode")
        if asked["mode"] not in ("new", "prepare", "resume", "continue"):
            raise Refused("invalid", "mode must be new, prepare, resume or continue")

        async def begin() -> Dict[str, Any]:
            return await self.service.open(asked["mode"], asked["name"] or "", asked["path"] or "")

        made = await keys.once(self.service.keys, asked["key"], begin)
        self.say({"session": self.service.describe(made["session"]), "execution": described(made["execution"])}, 201)


class One(Handler):
    @answers
    async def get(self, name: str) -> None:
        self.say(self.service.describe(self.service.session(name)))

    @answers
    async def delete(self, name: str) -> None:
        session = self.service.session(name)
        await self.service.shut(session)
        self.say(self.service.describe(session))


class Notebook(Handler):
    @answers
    async def get(self, name: str) -> None:
        document = cells.document(self.service.session(name))
        await document.refresh()
        unless = self.get_query_argument("unless", "")
        if unless and not await document.wait(unless, min(self.number("wait", 0, False), LONGEST)):
            self.set_header("X-Seer-Version", document.version)
            self.set_status(304)
            self.finish()
            return
        self.set_header("X-Seer-Version", document.version)  # before it is read: what comes meanwhile is another
        self.set_header("Content-Type", "application/json")
        self.finish(await document.text())


class Cells(Handler):
    @answers
    async def get(self, name: str) -> None:
        session = self.service.session(name)
        document = cells.document(session)
        await document.refresh()
        start, count = self.number("from", 0), self.number("count", 1 << 30)
        outputs = self.get_query_argument("outputs", "full")
        if outputs not in ("full", "short", "none"):
            raise Refused("invalid", "outputs must be full, short or none")
        ids = document.ids()
        session.show_now()
        found = [cells.describe(session, c, start + n, outputs) for n, c in enumerate(ids[start:start + count])]
        self.say({"cells": found, "total": len(ids), "version": document.version})

    @answers
    async def post(self, name: str) -> None:
        session = self.service.session(name)
        asked = self.body({"type": str, "source": str, "index": int, "run": bool, "hidden": bool, "key": str}, "source")
        kind = asked["type"] or "code"
        if kind not in TYPES:
            raise Refused("invalid", "type must be code, markdown or raw")
        if kind != "code" and (asked["run"] or asked["hidden"]):
            raise Refused("invalid", "only code is run")

        async def add() -> Tuple[Optional[str], Optional[Execution]]:
            if asked["hidden"]:
                execution = self.service.execution(session, None, asked["source"])
                execution.hidden = True
                return None, session.enqueue(execution)
            runnable(session, asked["run"])
            document = cells.document(session)
            await document.refresh()
            cell = new_cell(kind, asked["source"])
            document.insert(cells.place(session, asked["index"]), cell)
            return cell["id"], run(self, session, cell["id"], asked["run"])

        self.say(tell(session, *await keys.once(session.keys, asked["key"], add)), 201)


class Cell(Handler):
    @answers
    async def patch(self, name: str, key: str) -> None:
        session = self.service.session(name)
        asked = self.body({"source": str, "type": str, "run": bool, "key": str})
        if asked["type"] not in (None, *TYPES):
            raise Refused("invalid", "type must be code, markdown or raw")

        async def change() -> Tuple[Optional[str], Optional[Execution]]:
            document = cells.document(session)
            await document.refresh()
            cell_id, _ = cells.resolve(session, key)
            runnable(session, asked["run"])
            cell = of_type(document.cell(cell_id), asked["type"] or document.cell(cell_id)["cell_type"])
            if asked["run"] and cell["cell_type"] != "code":
                raise Refused("invalid", "the cell %s is %s: only code is run" % (cell_id, cell["cell_type"]))
            if cell["cell_type"] != "code" and cells.state(session, cell_id) != "idle":
                raise Refused("conflict", "the cell %s runs or waits: interrupt it first" % cell_id)
            if asked["source"] is not None or asked["type"] is not None:
                document.replace(cell_id, {**cell, "source": cell["source"] if asked["source"] is None else asked["source"]})
            return cell_id, run(self, session, cell_id, asked["run"])

        self.say(tell(session, *await keys.once(session.keys, asked["key"], change)))

    @answers
    async def delete(self, name: str, key: str) -> None:
        session = self.service.session(name)
        await cells.document(session).refresh()
        cell_id, index = cells.resolve(session, key)
        if cells.state(session, cell_id) == "running":
            raise Refused("conflict", "the cell %s runs: interrupt it first" % cell_id)
        cell = cells.describe(session, cell_id, index)
        for execution in [e for e in session.queue if e.cell == cell_id]:
            session.drop(execution, "the cell was deleted")
        cells.document(session).remove(cell_id)
        self.say({"cell": cell, "execution": None})


class Run(Handler):
    @answers
    async def post(self, name: str, key: str) -> None:
        session = self.service.session(name)
        asked = self.body({"key": str})

        async def again() -> Tuple[Optional[str], Optional[Execution]]:
            await cells.document(session).refresh()
            cell_id, _ = cells.resolve(session, key)
            kind = cells.document(session).cell(cell_id)["cell_type"]
            if kind != "code":
                raise Refused("invalid", "the cell %s is %s: only code is run" % (cell_id, kind))
            return cell_id, run(self, session, cell_id, True)

        self.say(tell(session, *await keys.once(session.keys, asked["key"], again)))


class Move(Handler):
    @answers
    async def post(self, name: str, key: str) -> None:
        session = self.service.session(name)
        asked = self.body({"index": int}, "index")
        document = cells.document(session)
        await document.refresh()
        session.show_now()
        cell_id, at = cells.resolve(session, key)
        to = cells.place(session, asked["index"], 0)
        if to != at:
            document.move(cell_id, to)
        self.say(tell(session, cell_id, None))


class Interrupt(Handler):
    @answers
    async def post(self, name: str) -> None:
        session = self.service.session(name)
        dropped = await session.interrupt()
        self.say({**self.service.describe(session), "dropped": dropped})


class Restart(Handler):
    @answers
    async def post(self, name: str) -> None:
        session = self.service.session(name)
        asked = self.body({"setup": bool})
        dropped = await session.restart(asked["setup"] is not False)
        self.say({**self.service.describe(session), "dropped": dropped})


class Variables(Handler):
    @answers
    async def get(self, name: str) -> None:
        only = self.get_query_argument("name", "") or None
        self.say({"variables": await variables(self.service.session(name), only)})


class Missing(Handler):
    @answers
    async def get(self, *args: str) -> None:
        raise Refused("not_found", "there is nothing at %s; docs/notebook.md lists what there is" % self.request.path)

    post = put = patch = delete = get


def run(handler: Handler, session: Session, cell_id: str, wanted: Any) -> Optional[Execution]:
    if not wanted:
        return None
    source = cells.document(session).cell(cell_id)["source"]
    return session.enqueue(handler.service.execution(session, cell_id, source))


def runnable(session: Session, wanted: Any) -> None:
    """Before a cell is made that could not be run."""
    if wanted:
        session.check()


def tell(session: Session, cell_id: Optional[str], execution: Optional[Execution]) -> Dict[str, Any]:
    found = None
    ids: List[str] = session.document.ids() if session.document is not None else []
    if cell_id in ids:
        found = cells.describe(session, str(cell_id), ids.index(str(cell_id)))
    return {"cell": found, "execution": described(execution)}


def described(execution: Optional[Execution]) -> Optional[Dict[str, Any]]:
    return None if execution is None else execution.describe()
