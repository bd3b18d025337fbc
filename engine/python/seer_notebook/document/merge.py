"""Joins what a person has saved into a notebook's file with what has become of the notebook here meanwhile."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Mapping, Sequence

Cell = Dict[str, Any]


@dataclass
class Seen:
    """A cell as it was when the file was last read or written here."""

    source: str
    kind: str
    metadata: str
    outputs: str  # digest
    born: int  # number of the saving that first had it; 0 for one that came from the file
    shown: int  # number of the saving that first had these outputs


def digest(cell: Cell) -> str:
    if cell["cell_type"] != "code":
        return ""
    return hashlib.sha256(json.dumps([cell.get("outputs"), cell.get("execution_count")], sort_keys=True).encode()).hexdigest()


def plain(metadata: Any) -> str:
    """As text that compares. Whether a cell is trusted is Jupyter's own business."""
    return json.dumps({k: v for k, v in (metadata or {}).items() if k != "trusted"}, sort_keys=True)


def merge(seen: Mapping[str, Seen], ours: Sequence[Cell], theirs: Sequence[Cell], based_on: int, busy: Collection[str]) -> List[Cell]:
    """The cells of both, in the order of theirs. Their edits of sources win and our outputs stay.

    based_on is the number of the saving that theirs began from. A cell that theirs lacks was deleted by them if that
    saving had it as it was then; otherwise they have never seen it, and it stays, as do those of busy.
    """
    mine = {c["id"]: c for c in ours}
    result: List[Cell] = []
    there = set()
    for cell in theirs:
        name, before = cell["id"], seen.get(cell["id"])
        if name in there:
            continue
        if name in mine:
            result.append(_joined(before, mine[name], cell, name in busy))
        elif before is not None and cell["source"] == before.source:
            continue  # it was deleted here
        else:
            result.append(cell)
        there.add(name)
    previous = ""
    for cell in ours:
        name = cell["id"]
        if name not in there and _stays(seen.get(name), cell, based_on, name in busy):
            at = next((n + 1 for n, c in enumerate(result) if c["id"] == previous), 0)
            result.insert(at, cell)
            there.add(name)
        if name in there:
            previous = name
    return result


def _stays(before: Any, cell: Cell, based_on: int, busy: bool) -> bool:
    if before is None or busy:
        return True
    unsaved = cell["source"] != before.source or digest(cell) != before.outputs
    return bool(unsaved or before.born > based_on or before.shown > based_on)


def _joined(before: Any, ours: Cell, theirs: Cell, busy: bool) -> Cell:
    if before is None:
        return {**theirs, **_results(ours, theirs)}
    kind = ours["cell_type"] if theirs["cell_type"] == before.kind else theirs["cell_type"]
    cell = {**theirs, "cell_type": kind}
    if theirs["source"] == before.source:
        cell["source"] = ours["source"]
    if plain(theirs.get("metadata")) == before.metadata:
        cell["metadata"] = ours["metadata"]
    if kind != "code":
        return {k: v for k, v in cell.items() if k not in ("outputs", "execution_count")}
    keep_ours = busy or digest(theirs) == before.outputs or digest(ours) != before.outputs
    return {**cell, **(_results(ours, theirs) if keep_ours else _results(theirs, ours))}


def _results(first: Cell, second: Cell) -> Cell:
    if first["cell_type"] != "code" and second["cell_type"] != "code":
        return {}
    cell = first if first["cell_type"] == "code" else {}
    return {"outputs": cell.get("outputs", []), "execution_count": cell.get("execution_count")}
