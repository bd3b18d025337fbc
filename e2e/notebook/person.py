"""A person's end of a shared notebook, as a browser has it: argv = base URL, token, path."""
import asyncio
import glob
import json
import os
import sys
import time
import urllib.request

from jupyter_ydoc import YNotebook
from pycrdt import Doc, YMessageType, create_sync_message, create_update_message, handle_sync_message
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

BASE, TOKEN = sys.argv[1:3]

def ask(method, path, body=None):
    request = urllib.request.Request(BASE + path, method=method, data=None if body is None else json.dumps(body).encode(), headers={"Authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request, timeout=600) as f:
        data = f.read()
    return json.loads(data) if data[:1] in b"{[" else data

async def call(*args):
    return await asyncio.get_running_loop().run_in_executor(None, ask, *args)

async def until(check, what):
    end = time.monotonic() + 600
    while time.monotonic() < end:
        found = check()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(0.05)
    raise SystemExit("it did not come: " + what)

def held(path):
    """Source which waits for that file."""
    return "import os, time\nwhile not os.path.exists(%r): time.sleep(0.05)\n" % os.path.abspath(path)

def let_go(path):
    open(path, "w").close()

async def main():
    info = await call("GET", "seer/v1")
    assert info["collaboration"] is True, info
    session = (await call("POST", "seer/v1/sessions", {"mode": "new", "name": "shared é"}))["session"]
    ident = session["id"]
    assert session["cells"] == 0, session
    shared = await call("PUT", "api/collaboration/session/" + urllib.request.quote(session["path"]), {"format": "json", "type": "notebook"})
    room = "json:notebook:" + shared["fileId"]
    url = "ws" + BASE[4:] + "api/collaboration/room/%s?sessionId=%s" % (room, shared["sessionId"])
    doc = Doc()
    nb = YNotebook(doc)

    async def connect():
        made = await websocket_connect(HTTPRequest(url, headers={"Authorization": "token " + TOKEN}), max_message_size=1 << 28)
        await made.write_message(create_sync_message(doc), binary=True)
        return made

    socket = await connect()

    async def hear(socket):
        while True:
            message = await socket.read_message()
            if message is None:
                return
            if message[0] == YMessageType.SYNC:
                reply = handle_sync_message(message[1:], doc)
                if reply is not None:
                    await socket.write_message(reply, binary=True)
    hearing = asyncio.ensure_future(hear(socket))

    # A cell of the agent's appears with its outputs while it runs.
    made = await call("POST", "seer/v1/sessions/%s/cells" % ident, {"source": "print('one', flush=True)\n" + held("seen") + "print('two')\n7", "run": True})
    await until(lambda: len(nb.ycells) == 1 and "one" in str(nb.get_cell(0)["outputs"]), "the output in the browser")
    assert str(nb.ycells[0]["execution_state"]) == "running"
    assert "two" not in str(nb.get_cell(0)["outputs"])
    let_go("seen")
    await until(lambda: "'7'" in str(nb.get_cell(0)["outputs"]), "the result in the browser")
    cell = nb.get_cell(0)
    assert [o.get("text") or o["data"]["text/plain"] for o in cell["outputs"]] == ["one\ntwo\n", "7"], cell
    await until(lambda: str(nb.ycells[0]["execution_state"]) == "idle", "idle")

    # What the person types and adds is what the agent reads and runs.
    before = doc.get_state()
    with doc.transaction():
        source = nb.ycells[0]["source"]
        source += "\nhuman = 5"
        nb.append_cell({"cell_type": "markdown", "id": "fromhuman", "metadata": {}, "source": "# hello é"})
    await socket.write_message(create_update_message(doc.get_update(before)), binary=True)
    async def read():
        cells = (await call("GET", "seer/v1/sessions/%s/cells" % ident))["cells"]
        return cells if len(cells) == 2 and cells[0]["source"].endswith("human = 5") and cells[1]["id"] == "fromhuman" else None
    cells = await until(read, "the person's edit")
    assert cells[0]["outputs"][0]["text"] == "one\ntwo\n"
    again = await call("POST", "seer/v1/sessions/%s/cells/0/run" % ident, {})
    while (await call("GET", "seer/v1/executions/" + again["execution"]["id"]))["state"] in ("queued", "running"):
        await asyncio.sleep(0.1)
    values = await call("GET", "seer/v1/sessions/%s/variables?name=human" % ident)
    assert values["variables"][0]["preview"] == "5", values

    # Full or short, an agent reads what the browser shows; scripts of its outputs wait for a person's word.
    for detail in ("full", "short"):
        cells = (await call("GET", "seer/v1/sessions/%s/cells?outputs=%s" % (ident, detail)))["cells"]
        assert [o.get("text") or o["data"]["text/plain"] for o in cells[0]["outputs"]] == ["one\ntwo\n"], cells
        assert cells[0].get("metadata") is None
    assert not nb.ycells[0]["metadata"].get("trusted"), nb.get_cell(0)

    # The connection of the browser is cut in the middle of a cell: nothing is lost when it is there again.
    cut = await call("POST", "seer/v1/sessions/%s/cells" % ident, {"source":
        "import time\nfor i in range(20): print(i, flush=True); time.sleep(0.1)\n" + held("cut") + "for i in range(20, 40): print(i, flush=True)", "run": True})
    index = cut["cell"]["index"]
    await until(lambda: len(nb.ycells) > index and "3\n" in str(nb.get_cell(index)["outputs"]).replace("\\n", "\n"), "its first output")
    with doc.transaction():  # what is typed while there is no connection
        nb.append_cell({"cell_type": "markdown", "id": "typedaway", "metadata": {}, "source": "typed away"})
    hearing.cancel()
    socket.close()
    await asyncio.sleep(1)
    let_go("cut")
    socket = await connect()
    hearing = asyncio.ensure_future(hear(socket))
    await until(lambda: str(nb.ycells[index]["execution_state"]) == "idle", "the end after the cut")
    assert "".join(o["text"] for o in nb.get_cell(index)["outputs"]) == "".join("%d\n" % i for i in range(40)), nb.get_cell(index)
    async def typed():
        return [c["id"] for c in (await call("GET", "seer/v1/sessions/%s/cells" % ident))["cells"]] == [c["id"] for c in nb.get()["cells"]]
    await until(typed, "what was typed without a connection")
    await call("DELETE", "seer/v1/sessions/%s/cells/typedaway" % ident)
    await call("DELETE", "seer/v1/sessions/%s/cells/%s" % (ident, cut["cell"]["id"]))
    await until(lambda: len(nb.ycells) == 2, "the deletions")

    # Moving, editing, deleting by the agent arrives; much text and updated displays as well.
    await call("POST", "seer/v1/sessions/%s/cells/fromhuman/move" % ident, {"index": 0})
    await until(lambda: nb.get_cell(0)["id"] == "fromhuman" and len(nb.ycells) == 2, "the move")
    await call("PATCH", "seer/v1/sessions/%s/cells/fromhuman" % ident, {"source": "# changed"})
    await until(lambda: nb.get_cell(0)["source"] == "# changed", "the edit")
    await call("DELETE", "seer/v1/sessions/%s/cells/fromhuman" % ident)
    await until(lambda: len(nb.ycells) == 1, "the deletion")
    await call("POST", "seer/v1/sessions/%s/cells" % ident, {"source": "from IPython.display import display\nh = display(1, display_id=True)\nfor i in range(60000): print('x' * 99)\nh.update(2)", "run": True})
    await until(lambda: len(nb.ycells) == 2 and str(nb.ycells[1]["execution_state"]) == "idle" and "left out" in str(nb.get_cell(1)["outputs"]), "the long output")
    await until(lambda: nb.get_cell(1)["outputs"][0]["data"]["text/plain"] == "2", "the updated display")
    assert sum(len(o.get("text", "")) for o in nb.get_cell(1)["outputs"]) < (1 << 20) + 1000

    # It is saved, and a kernel that is restarted runs the same notebook.
    async def saved():
        model = await call("GET", "api/contents/" + urllib.request.quote(session["path"]))
        return "left out" in json.dumps(model["content"]) and "human = 5" in json.dumps(model["content"])
    await until(saved, "the saved notebook")
    assert (await call("POST", "seer/v1/sessions/%s/restart" % ident, {}))["state"] == "idle"
    hidden = [p for p in glob.glob("work/**/.*", recursive=True) if not p.endswith(".part")]
    assert hidden == [], hidden  # what Jupyter keeps for itself lies elsewhere
    print("a person and an agent share a notebook")

asyncio.run(main())
