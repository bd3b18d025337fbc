"""All sessions and executions of a server."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import uuid
from collections import OrderedDict
from typing import Any, Dict, List, Optional, Set

from jupyter_core.utils import ensure_async

from ..document import paths
from ..document.document import Document, new_notebook
from ..document.file import FileDocument
from ..errors import Refused, from_os
from ..execution.events import Budget
from ..execution.execution import ENDED, Execution
from ..settings import Settings, SetupCell
from . import store
from .session import Session

KEPT = 1000  # executions after their end
_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"  # Jupyter says what it did to kernels
_PRIVATE = ("SEER_ACTIVITY", "JPY_PARENT_PID")


class Service:
    """What the HTTP API is about; app is the Jupyter server, private a folder that lives as long as the supervisor."""

    def __init__(self, app: Any, settings: Settings, private: str) -> None:
        self.app, self.settings, self.private = app, settings, private
        self.log, self.kernels, self.jupyter_sessions = app.log, app.kernel_manager, app.session_manager
        app.event_logger.add_listener(schema_id=_ACTIONS, listener=self._acted)
        self.sessions: Dict[str, Session] = {}
        self.executions: OrderedDict[str, Execution] = OrderedDict()
        self.keys: OrderedDict[str, Any] = OrderedDict()  # of requests that begin a session
        self._resumed: Set[str] = set()  # paths whose session is not there yet
        self._setting_up = asyncio.Lock()
        self._budget = Budget()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._activity = os.environ.get("SEER_ACTIVITY", "")
        self._lost, self._keeper = store.load(os.path.join(private, store.FILE)), store.Keeper(private)

    async def _acted(self, logger: Any, schema_id: str, data: Dict[str, Any]) -> None:
        for session in self.sessions.values():
            if session.kernel.id == data.get("kernel_id"):
                session.kernel.look()

    # -- sessions

    async def open(self, mode: str, title: str, path: str) -> Dict[str, Any]:
        if mode == "prepare":
            session = await self._started(title)
            session.state = "prepared"
            self.store()
            return {"session": session, "execution": None}
        if mode == "new":
            return await self._open(mode, title, "")
        source = paths.existing(self.settings.root, path)
        title = title or paths.bare(source)
        if mode == "continue":
            return await self._open(mode, title, source)
        for other in self.sessions.values():
            if other.document is not None and other.document.path == source:
                raise Refused("conflict", "the session %s has the notebook %s already" % (other.id, source))
        if source in self._resumed:
            raise Refused("conflict", "another request opens the notebook %s just now" % source)
        self._resumed.add(source)
        try:
            return await self._open(mode, title, source)
        finally:
            self._resumed.remove(source)

    async def _open(self, mode: str, title: str, source: str) -> Dict[str, Any]:
        content = await self._read(source) if source else new_notebook()
        session = await self._prepared(title)
        execution = None
        try:
            if mode == "resume":
                session.document = await self._document(session, source, False)
            else:
                await self._create(session, content, title or "notebook", "_continued" if mode == "continue" else "")
            await self.attach(session)
            session.check_open()
            if session.state in ("starting", "prepared"):  # else it has died since, or a person restarts it
                session.state = "idle"
            if mode != "new":
                execution = self._replay(session)
        except OSError as e:
            await self.shut(session)
            raise from_os("the notebook could not be made", e) from None
        except Exception:
            await self.shut(session)
            raise
        self.store()
        return {"session": session, "execution": execution}

    async def set_up(self, cells: List[SetupCell]) -> Session:
        """Gives later kernels another set-up, and prepares one with it. Kernels that nobody has taken yet end before, for models may need
        all of the memory."""
        async with self._setting_up:
            before = self.settings.setup
            for session in list(self.sessions.values()):
                if session.state == "prepared":  # and nobody has taken it while another one ended
                    await self.shut(session)
            self.settings = dataclasses.replace(self.settings, setup=cells)
            try:
                made: Session = (await self.open("prepare", "", ""))["session"]
            except BaseException:
                self.settings = dataclasses.replace(self.settings, setup=before)
                raise
            return made

    async def shut(self, session: Session) -> None:
        await session.close()
        if session.jupyter_session:
            try:
                await ensure_async(self.jupyter_sessions.delete_session(session.jupyter_session))
            except Exception:  # its kernel is gone, which is what was wanted
                self.log.debug("the Jupyter session of %s is gone", session.id)
        self.sessions.pop(session.id, None)
        self.store()

    def session(self, name: str) -> Session:
        found = self.sessions.get(name)
        if found is None:
            raise Refused("not_found", "there is no session %s; GET …/sessions lists them" % name)
        return found

    async def attach(self, session: Session) -> None:
        """A browser that opens the notebook gets this kernel: Jupyter has a session that joins the two."""
        if session.document is None:
            return
        path = session.document.path
        session.path = path
        for model in await ensure_async(self.jupyter_sessions.list_sessions()):
            if model["path"] == path and model["kernel"]["id"] != session.kernel.id:
                await ensure_async(self.jupyter_sessions.update_session(model["id"], kernel_id=session.kernel.id))
            if model["path"] == path:
                session.jupyter_session = model["id"]
                return
        model = await ensure_async(self.jupyter_sessions.create_session(
            path=path, name=os.path.basename(path), type="notebook", kernel_name=session.kernel.name, kernel_id=session.kernel.id))
        session.jupyter_session = model["id"]

    async def _started(self, title: str) -> Session:
        session = Session(uuid.uuid4().hex[:12], self, title)
        self.sessions[session.id] = session
        try:
            await session.start()
        except BaseException:
            self.sessions.pop(session.id, None)
            self.store()
            raise
        return session

    async def _prepared(self, title: str) -> Session:
        for session in self.sessions.values():
            if session.state == "prepared":
                session.state, session.title = "starting", title or session.title
                return session
        return await self._started(title)

    async def _create(self, session: Session, content: Dict[str, Any], title: str, suffix: str) -> None:
        path = paths.fresh(self.settings.root, self.settings.notebooks_dir, title, suffix)
        session.title = session.title or title
        await ensure_async(self.app.contents_manager.save({"type": "notebook", "format": "json", "content": content}, path))
        session.document = await self._document(session, path, not content["cells"])

    async def _document(self, session: Session, path: str, empty: bool) -> Document:
        shared = self.shared()
        if shared is not None:
            from ..document.shared import SharedDocument

            document: Any = SharedDocument(shared, path, session.saved)
            await document.load(empty)
            return document
        document = FileDocument(self.app.contents_manager, self.settings.root, path, session.saved, session.busy_cells,
                                lambda: self._moved(session))
        await document.load()
        return document

    def shared(self) -> Optional[Any]:
        """The extension of jupyter-collaboration, where it runs."""
        apps = getattr(self.app.extension_manager, "extension_apps", {}).get("jupyter_server_ydoc", set())
        return next((a for a in apps if not getattr(a, "disable_rtc", False) and hasattr(a, "get_document")), None)

    async def _read(self, path: str) -> Dict[str, Any]:
        try:
            model = await ensure_async(self.app.contents_manager.get(path, type="notebook", content=True))
        except Exception as e:
            raise Refused("invalid", "path %s: it is not a notebook: %s" % (path, getattr(e, "log_message", None) or e)) from None
        content: Dict[str, Any] = model["content"]
        return content

    async def _moved(self, session: Session) -> str:
        for model in await ensure_async(self.jupyter_sessions.list_sessions()):
            if model["id"] == session.jupyter_session:
                return str(model["path"])
        return ""

    def _replay(self, session: Session) -> Execution:
        assert session.document is not None
        execution = self.execution(session, None, "")
        for name in session.document.ids():
            cell = session.document.cell(name)
            if cell["cell_type"] == "code" and cell["source"].strip():
                execution.replay.append(name)
        execution.replay = execution.replay or [""]
        return session.enqueue(execution)

    # -- executions

    def execution(self, session: Session, cell: Optional[str], code: str) -> Execution:
        execution = Execution(uuid.uuid4().hex[:12], session.id, cell, code, self._budget, self.private)
        self.executions[execution.id] = execution
        return execution

    def find(self, name: str) -> Execution:
        found = self.executions.get(name)
        if found is None:
            raise Refused("not_found", "there is no execution %s: the last %d are kept" % (name, KEPT))
        return found

    def ended(self, execution: Execution) -> None:
        self.active()
        self._ended[execution.id] = None
        while len(self._ended) > KEPT:
            name, _ = self._ended.popitem(last=False)
            old = self.executions.pop(name, None)
            if old is not None:
                old.log.forget()
                old.spool.remove()
        self.store()

    async def cancel(self, execution: Execution) -> None:
        if execution.state in ENDED:
            return
        session = self.session(execution.session)
        if execution is session.running or execution is session.whole:
            execution.interrupt = True
            await session.kernel.interrupt()
        else:
            session.drop(execution, "it was taken out of the queue")

    # -- what outlives the server

    def kernel_env(self) -> Dict[str, str]:
        """The variables of a kernel: the server's, but for what is between the service and its supervisor."""
        env = {k: v for k, v in os.environ.items() if k not in _PRIVATE}
        return {**env, **self.settings.kernel_env}

    def store(self) -> None:
        self._keeper.save(self.sessions.values(), self.executions.values())

    async def restore(self) -> None:
        """After the server has ended unexpectedly: the notebooks are there, the kernels are dead, and that is said."""
        for lost in self._lost.get("sessions", []):
            store.end_kernel(lost)
            why = "the Jupyter server ended unexpectedly and was started again; its kernels ended with it"
            session = Session(lost["id"], self, lost["title"])
            session.kernel.id, session.created, session.state, session.message = lost["kernel_id"], lost["created"], "dead", why
            path = lost["path"]
            if not path or not os.path.isfile(os.path.join(self.settings.root, path)):
                continue
            try:
                session.document = await self._document(session, path, False)
            except Exception:
                self.log.exception("the notebook %s could not be opened again", path)
                continue
            session.path = path
            self.sessions[session.id] = session
        for gone in self._lost.get("executions", []):
            execution = Execution(gone["id"], gone["session"], gone["cell"], "", self._budget, self.private)
            execution.queued, execution.started = gone["queued"], gone["started"]
            self.executions[execution.id] = execution
            execution.end("dead" if gone["started"] else "dropped", note="the Jupyter server ended unexpectedly and the kernel with it")
            self._ended[execution.id] = None
        self._lost = {}
        self.store()

    def active(self) -> None:
        """Touches the file that keeps the sandbox from being idle."""
        if self._activity:
            try:
                with open(self._activity, "a", encoding="utf-8"):
                    os.utime(self._activity)
            except OSError as e:
                self.log.warning("%s: %s", self._activity, e.strerror)

    def busy(self) -> bool:
        return any(s.busy for s in self.sessions.values())

    def describe(self, session: Session) -> Dict[str, Any]:
        document = session.document
        session.path = document.path if document is not None else session.path
        state = "busy" if session.state == "idle" and session.busy else session.state
        return {"id": session.id, "name": session.title, "path": session.path, "state": state, "message": session.message,
                "kernel_id": session.kernel.id, "kernel_name": session.kernel.name, "execution_count": session.execution_count,
                "cells": len(document.ids()) if document is not None else 0, "version": document.version if document is not None else "",
                "setup": session.setup, "created_unix": session.created, "last_use_unix": session.last_use}

    def list(self) -> List[Dict[str, Any]]:
        return [self.describe(s) for s in sorted(self.sessions.values(), key=lambda s: s.created)]

    async def stop(self) -> None:
        """All sessions end at once, for the time is short: each saves its notebook first."""
        ends = await asyncio.gather(*(s.close() for s in self.sessions.values()), return_exceptions=True)
        for error in ends:
            if error is not None:
                self.log.error("a session could not be closed", exc_info=error)
        for execution in self.executions.values():
            execution.spool.remove()
