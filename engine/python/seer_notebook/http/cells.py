"""Cells as the API tells them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from ..document.document import Document
from ..errors import Refused
from ..execution.execution import Execution
from ..sessions.session import Session

SHORT = 2000  # characters of a text in "outputs=short"


def document(session: Session) -> Document:
    session.check_open()
    if session.document is None:
        raise Refused("conflict", "the session %s has no notebook yet: POST …/sessions with mode new takes it" % session.id)
    return session.document


def resolve(session: Session, key: str) -> Tuple[str, int]:
    """The id and the index of a cell that is named by its id or its index; negative ones count from the end."""
    ids = document(session).ids()
    if key in ids:
        return key, ids.index(key)
    try:
        at = int(key)
    except ValueError:
        raise Refused("not_found", "there is no cell %s in the session %s" % (key, session.id)) from None
    if not -len(ids) <= at < len(ids):
        raise Refused("not_found", "there is no cell %d: the notebook has %d, 0 to %d" % (at, len(ids), len(ids) - 1))
    return ids[at], at % len(ids)


def place(session: Session, index: Optional[int], more: int = 1) -> int:
    """Where a cell is to go; negative numbers count from behind the last."""
    total = len(document(session).ids()) + more
    if index is None:
        return total - 1
    if not -total <= index < total:
        raise Refused("invalid", "index %d: it must be between %d and %d" % (index, -total, total - 1))
    return index % total


def describe(session: Session, name: str, index: int, outputs: str = "full") -> Dict[str, Any]:
    cell = document(session).cell(name)
    found = {"index": index, "id": name, "type": cell["cell_type"], "source": cell["source"],
             "execution_count": cell.get("execution_count"), "outputs": [], "state": state(session, name)}
    if cell["cell_type"] == "code" and outputs != "none":
        found["outputs"] = [_short(o) for o in cell["outputs"]] if outputs == "short" else list(cell["outputs"])
    return found


def state(session: Session, name: str) -> str:
    if session.running is not None and session.running.cell == name:
        return "running"
    waiting: List[Execution] = [*session.queue]
    return "queued" if any(e.cell == name or name in e.replay for e in waiting) else "idle"


def _short(output: Dict[str, Any]) -> Dict[str, Any]:
    if output["output_type"] == "stream":
        return {**output, "text": cut("".join(output["text"]))}
    if output["output_type"] == "error":
        return {**output, "evalue": cut(output["evalue"]), "traceback": [cut("\n".join(output["traceback"]))]}
    data = {}
    for mime, value in output.get("data", {}).items():
        text = value if isinstance(value, str) else ""
        data[mime] = cut(text) if mime == "text/plain" else "[%s, %d bytes]" % (mime, len(text)) if text else "[%s]" % mime
    return {**output, "data": data}


def cut(text: str) -> str:
    if len(text) <= SHORT:
        return text
    return "%s\n[%d characters are left out here]\n%s" % (text[:SHORT // 2], len(text) - SHORT, text[-(SHORT // 2):])
