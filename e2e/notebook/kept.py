"""Two who edit one shared notebook at random: what the service keeps of its cells, and of its history, is what the document says."""

import asyncio
import os
import random
import sys
import tempfile

from jupyter_ydoc import YNotebook
from pycrdt import Doc

from seer_notebook.document.cells import SharedCells
from seer_notebook.document.history import kept_at
from seer_notebook.document.saving import as_jupyter_writes, joined
from seer_notebook.document.shared import _plain


def cell(rnd, n):
    kind = rnd.choice(["code", "code", "markdown"])
    made = {"id": "cell%d" % n, "cell_type": kind, "metadata": rnd.choice([{}, {"a": [1, {"é": None}]}]), "source": "x = 1\ny\n"}
    return {**made, "execution_count": None, "outputs": []} if kind == "code" else made


def edit(rnd, nb, n):
    size, do = len(nb.ycells), rnd.randrange(8)
    at = rnd.randrange(size) if size else 0
    if do < 2 or not size:
        nb.ycells.insert(rnd.randrange(size + 1), nb.create_ycell(cell(rnd, n)))
    elif do == 2:
        del nb.ycells[at]
    elif do == 3:
        moved = nb.get_cell(at)
        del nb.ycells[at]
        nb.ycells.insert(rnd.randrange(size), nb.create_ycell(moved))
    elif do == 4:
        nb.ycells[at] = nb.create_ycell(cell(rnd, n))
    elif do == 5:
        nb.ycells[at]["source"].insert(rnd.randrange(3), rnd.choice(["a", "\n", "Ü\u2028", '"\\']))
    elif do == 6:
        nb.ycells[at]["metadata"]["n"] = rnd.choice([n, 1.5, {"deep": [n]}])
    elif nb.ycells[at]["cell_type"] == "code":
        with nb.ycells.doc.transaction():
            nb.ycells[at]["execution_count"] = n
            nb.ycells[at]["outputs"].extend(nb._create_youtputs([rnd.choice([
                {"output_type": "stream", "name": "stdout", "text": "one\ntwo %d\n" % n},
                {"output_type": "execute_result", "execution_count": n, "metadata": {}, "data": {"text/plain": "%d" % n, "image/png": "aGk="}},
                {"output_type": "stream", "name": "stderr", "text": "x" * 300000},
                {"output_type": "error", "ename": "E", "evalue": "é", "traceback": ["\x1b[31ma", "b"]}])])[:1])
            if rnd.randrange(4) == 0:
                nb.ycells.insert(0, nb.create_ycell(cell(rnd, n + 100000)))


def one(seed):
    rnd = random.Random(seed)
    here, there = YNotebook(Doc()), YNotebook(Doc())
    here.set({"cells": [cell(rnd, -n) for n in range(1, 4)], "metadata": {"kernelspec": {"name": "python3"}, "n": 1}, "nbformat": 4, "nbformat_minor": 5})
    kept = SharedCells(here.ycells, lambda at: _plain(here.get_cell(at)))
    watch = here.ycells.observe_deep(lambda events: kept.follow(events))
    for n in range(120):
        edit(rnd, rnd.choice([here, there]), n)
        if rnd.randrange(3) == 0:
            there.ydoc.apply_update(here.ydoc.get_update(there.ydoc.get_state()))
            here.ydoc.apply_update(there.ydoc.get_update(here.ydoc.get_state()))
        cells = [_plain(here.get_cell(at)) for at in range(len(here.ycells))]
        assert kept.ids() == [c["id"] for c in cells], (seed, n)
        assert kept.all() == cells, (seed, n)
        whole = {"cells": cells, "metadata": {"ä": [1]}, "nbformat": 4, "nbformat_minor": 5}
        assert joined(kept.texts(), whole["metadata"]) == as_jupyter_writes(whole), (seed, n)
    hits = sum(k is not None and bool(k.text) for k in kept._kept)
    here.ycells.unobserve(watch)
    return hits


def many():
    """A notebook of many cells is written as fast as a short one after a few changes; one of too much text is not kept twice."""
    here = YNotebook(Doc())
    for count, size, fast in ((105, 100, True), (205, 200 << 10, False)):
        here.set({"cells": [{**cell(random.Random(n), n), "source": "x" * size} for n in range(count)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        kept = SharedCells(here.ycells, lambda at: _plain(here.get_cell(at)))
        asked = [kept.large() for _ in range(8)]
        assert asked == ([True] * 5 + [False] * 3 if fast else [True] * 8), asked
        assert sum(len(k.text) + len(k.cell["source"] if k.cell else "") for k in kept._kept) < 70 << 20
        if fast:
            assert joined(kept.texts(), {}) == as_jupyter_writes({"cells": kept.all(), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        else:
            assert kept.ids() == ["cell%d" % n for n in range(count)] and kept.all() == [_plain(here.get_cell(at)) for at in range(count)]
            watch = here.ycells.observe_deep(lambda events: kept.follow(events))
            del here.ycells[:150]
            for _ in range(3):  # what was kept is counted again
                here.ycells[0]["metadata"]["n"] = 1
                kept.ids()
            here.ycells.unobserve(watch)
            for n in range(len(here.ycells)):
                kept._kept[n] = None if kept._kept[n].cell is None else kept._kept[n]
            assert [kept.large() for _ in range(4)][-1] is False


async def history(folder, rnd):
    """What was written is there for who comes later, whether it was waited for or the store was stopped."""
    nb, made = YNotebook(Doc()), kept_at(os.path.join(folder, "shared.db"))
    for stopped in range(3):
        store = made(path="room")
        running = asyncio.ensure_future(store.start())
        await store.started.wait()
        await store.db_initialized.wait()
        before = nb.ydoc.get_state()
        for n in range(30):
            edit(rnd, nb, 1000 * stopped + n)
            await store.write(nb.ydoc.get_update(before))
            before = nb.ydoc.get_state()
        if not stopped:
            await store.flush()
        found = YNotebook(Doc())
        if not stopped:
            await store.apply_updates(found.ydoc)
            assert found.ydoc.get_update() == nb.ydoc.get_update()
        await store.stop()
        await running
    store = made(path="room")
    running = asyncio.ensure_future(store.start())
    await store.started.wait()
    found = YNotebook(Doc())
    await store.apply_updates(found.ydoc)
    assert found.get() == nb.get() and len(nb.ycells) > 0
    await store.stop()
    await running


async def fails(folder):
    """A history that cannot be written for a while keeps no notebook from being saved, and is whole again later."""
    nb, made = YNotebook(Doc()), kept_at(os.path.join(folder, "failing.db"))
    store = made(path="room")
    await asyncio.wait_for(store.flush(), 60)  # of one that has not begun
    running = asyncio.ensure_future(store.start())
    await store.started.wait()
    await store.db_initialized.wait()
    await store._db.execute("PRAGMA max_page_count = 1")  # the disk is full: it cannot grow
    for n in range(6):
        if n == 5:
            await store._writer  # it has ended: nobody tries for ever
            assert store._waiting, "the disk was not full"
            await store._db.execute("PRAGMA max_page_count = 1000000")
        before = nb.ydoc.get_state()
        nb.ycells.append(nb.create_ycell({**cell(random.Random(n), n), "source": "x" * 50000}))
        await store.write(nb.ydoc.get_update(before))
        await store.flush()
    found = YNotebook(Doc())
    await store.apply_updates(found.ydoc)
    assert found.get() == nb.get() and len(nb.ycells) == 6
    await store.stop()
    await running


hits = [one(seed) for seed in range(int(sys.argv[1]))]
assert sum(hits) > len(hits), "nothing was ever kept"
many()
with tempfile.TemporaryDirectory() as folder:
    asyncio.run(history(folder, random.Random(3)))
    asyncio.run(fails(folder))
print("what is kept of a shared notebook is what it says")
