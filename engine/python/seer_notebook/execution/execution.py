"""One run of code: its state, its events, its text, its outputs."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Optional

from .events import PIECE, Budget, Log
from .outputs import Outputs
from .spool import Spool

ENDED = ("done", "error", "interrupted", "dead", "dropped")


class Execution:
    """Made when the code is queued; heard takes the kernel's messages; end is called once."""

    def __init__(self, name: str, session: str, cell: Optional[str], code: str, budget: Budget, spool_dir: str) -> None:
        self.id, self.session, self.cell, self.code = name, session, cell, code
        self.state, self.position = "queued", 0
        self.execution_count: Optional[int] = None
        self.queued, self.started, self.ended = time.time(), 0.0, 0.0
        self.error: Optional[Dict[str, Any]] = None
        self.restored: Optional[Dict[str, Any]] = None  # of a run of a whole notebook
        self.hidden = False
        self.replay: List[str] = []  # cells that it runs one after the other
        self.interrupt = False  # it has been asked to end
        self.spool = Spool(os.path.join(spool_dir, name + ".txt"))
        self.outputs = Outputs(self.spool.path)
        self.log = Log(budget, "read GET …/executions/%s/text, and the outputs of the cell" % name)
        self.changed: Callable[[], None] = lambda: None  # the outputs or the count are not what they were
        self.updated: Callable[[Dict[str, Any]], None] = lambda content: None  # a display is to show something else
        self.full_told = False

    def begin(self) -> None:
        self.state, self.started, self.position = "running", time.time(), 0
        self.changed()

    def heard(self, kind: str, content: Dict[str, Any]) -> None:
        handler = getattr(self, "_on_" + kind, None)
        if handler is not None:
            handler(content)
            self.changed()

    def end(self, state: str, error: Optional[Dict[str, Any]] = None, note: str = "") -> None:
        if self.state in ENDED:
            return
        self.outputs.seal()
        self.state, self.ended, self.position = state, time.time(), 0
        self.error = self.error or error
        if note:
            self.note(note)
        self.changed()
        self.log.count += 1  # the end counts itself
        described = self.describe()
        self.log.count -= 1
        self.log.close(execution=described)

    def note(self, text: str) -> None:
        self.log.add("note", len(text), text=text)

    def describe(self) -> Dict[str, Any]:
        found = {"id": self.id, "session": self.session, "cell": self.cell, "state": self.state, "position": self.position,
                 "execution_count": self.execution_count, "queued_unix": self.queued, "started_unix": self.started,
                 "ended_unix": self.ended, "error": self.error, "events": self.log.count, "text_bytes": self.spool.size,
                 "cut": self.outputs.cut or bool(self.spool.full)}
        return found if self.restored is None else {**found, "restored": self.restored}

    def _on_stream(self, content: Dict[str, Any]) -> None:
        name = "stderr" if content.get("name") == "stderr" else "stdout"
        text = str(content.get("text", ""))
        for at in range(0, len(text), PIECE):  # a kernel says what was printed in 0.2 s at once, be it 100 MB
            piece = text[at:at + PIECE]
            self.outputs.stream(name, piece)
            self.spool.add(piece.encode("utf-8", "replace"))
            self.log.add("output", len(piece), output={"output_type": "stream", "name": name, "text": piece})
        if self.spool.full and not self.full_told:
            self.full_told = True
            self.note("from here on the text is not kept: " + self.spool.full)

    def _on_lost(self, content: Dict[str, Any]) -> None:
        self.note("about %d messages of the kernel were lost here: it says more at once than can be sent" % content["count"])

    def _on_execute_input(self, content: Dict[str, Any]) -> None:
        if not self.hidden:
            self.execution_count = content.get("execution_count")

    def _on_execute_result(self, content: Dict[str, Any]) -> None:
        self._bundle("execute_result", content, execution_count=content.get("execution_count"))

    def _on_display_data(self, content: Dict[str, Any]) -> None:
        self._bundle("display_data", content)

    def _bundle(self, kind: str, content: Dict[str, Any], **more: Any) -> None:
        data = {"output_type": kind, "data": content.get("data") or {}, "metadata": content.get("metadata") or {}, **more}
        display_id = str((content.get("transient") or {}).get("display_id") or "")
        kept = self.outputs.add(data, display_id)
        more = {"display_id": display_id} if display_id else {}
        self.log.add("output", _weight(kept), output=kept, **more)

    def _on_update_display_data(self, content: Dict[str, Any]) -> None:
        self.updated(content)

    def on_update(self, content: Dict[str, Any]) -> bool:
        """A display that this execution has made shows something else; it may be another one that says so."""
        display_id = str((content.get("transient") or {}).get("display_id") or "")
        changed = self.outputs.update(display_id, content.get("data") or {}, content.get("metadata") or {})
        if changed:
            self.log.add("update", _weight(changed[-1]), display_id=display_id, output=changed[-1])
            self.changed()
        return bool(changed)

    def _on_clear_output(self, content: Dict[str, Any]) -> None:
        self.outputs.clear(bool(content.get("wait")))
        self.log.add("clear", 0, wait=bool(content.get("wait")))

    def _on_error(self, content: Dict[str, Any]) -> None:
        error = {"ename": str(content.get("ename", "")), "evalue": str(content.get("evalue", "")),
                 "traceback": [str(x) for x in content.get("traceback") or []]}
        if error["ename"] == "StdinNotImplementedError":
            self.log.add("input", 0)
        kept = self.outputs.add({"output_type": "error", **error})
        self.error = {k: kept[k] for k in error}
        self.log.add("output", _weight(kept), output=kept)


def _weight(output: Dict[str, Any]) -> int:
    """About how many bytes it takes."""
    size = 200
    for value in list(output.get("data", {}).values()) + [output.get("evalue", "")] + list(output.get("traceback", [])):
        size += len(value) if isinstance(value, str) else 2000
    return size
