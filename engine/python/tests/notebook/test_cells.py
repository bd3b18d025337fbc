"""Sessions, cells and executions over HTTP, with a real Jupyter server and real kernels; one server for all of them."""

import json
import os
import re
import unittest
import urllib.parse

from harness import TOKEN, Failed, Server, text, until

server: Server
session = ""


def setUpModule() -> None:
    global server, session
    server = Server(setup=[{"name": "start", "code": "ready = 'set up'"}])
    session = server.new("shared")


def tearDownModule() -> None:
    if server.close() != 0:
        raise AssertionError("".join(server.log))


class Asking(unittest.TestCase):
    def refused(self, code: str, method: str, path: str, body: object = None) -> str:
        with self.assertRaises(Failed) as caught:
            server.ask(method, path, body)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception.message

    def test_the_token_is_needed_everywhere(self) -> None:
        for path in ("", "/sessions", "/sessions/x/cells", "/executions/x/events", "/executions/x/text", "/nothing"):
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                with server.open("GET", "/seer/v1" + path, headers=headers) as answer:
                    self.assertEqual(answer.status, 403, path)
                    body = answer.read()
                    self.assertEqual(json.loads(body)["error"]["code"], "forbidden")
                    self.assertNotIn(TOKEN.encode(), body)
        for headers, query in (({"Authorization": "token " + TOKEN}, ""), ({}, "?token=" + TOKEN)):
            with server.open("GET", "/seer/v1" + query, headers=headers) as answer:
                self.assertEqual(answer.status, 200)
                self.assertNotIn(TOKEN.encode(), answer.read())
        with server.open("POST", "/seer/v1/sessions", b"{}", headers={}) as answer:
            self.assertEqual(answer.status, 403)

    def test_what_is_wrong_is_said(self) -> None:
        self.assertIn("known are", self.refused("invalid", "POST", "/sessions", {"mode": "new", "extra": 1}))
        self.refused("invalid", "POST", "/sessions", {"mode": "other"})
        self.refused("invalid", "POST", "/sessions", b"{")
        self.refused("invalid", "POST", "/sessions", b"[]")
        self.refused("not_found", "GET", "/sessions/nobody")
        self.refused("not_found", "GET", "/executions/nobody/events")
        self.refused("not_found", "GET", "/nothing/at/all")
        cells = "/sessions/%s/cells" % session
        self.refused("invalid", "POST", cells, {"type": "code"})
        self.refused("invalid", "POST", cells, {"type": "sql", "source": ""})
        self.refused("invalid", "POST", cells, {"type": "markdown", "source": "", "run": True})
        self.refused("invalid", "POST", cells, {"source": 1})
        self.refused("invalid", "POST", cells, {"source": "", "index": 100000})
        self.refused("invalid", "GET", cells + "?from=-1")
        self.refused("invalid", "GET", cells + "?outputs=some")
        self.refused("not_found", "PATCH", cells + "/100000", {"source": ""})
        self.refused("not_found", "DELETE", cells + "/nobody")
        self.refused("invalid", "GET", "/executions/%s/events?wait=long" % server.add(session, "1")["execution"]["id"])

    def test_half_a_character_keeps_no_notebook_from_being_saved(self) -> None:
        name = server.new("halves")
        path = server.path(name)
        with server.open("POST", "/seer/v1/sessions/%s/cells" % name, b'{"source": "\\ud83d \\ud83d\\ude00", "type": "raw"}') as answer:
            self.assertEqual(json.loads(answer.read())["cell"]["source"], "\ufffd \U0001f600")
        self.assertEqual(server.ask("DELETE", "/sessions/" + name)["message"], "")
        self.assertIn("\ufffd \U0001f600", path.read_text())

    def test_paths_are_confined(self) -> None:
        outside = server.root.parent / "outside.ipynb"
        outside.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
        os.symlink(outside, server.root / "link.ipynb")
        (server.root / "bad.ipynb").write_text("{no notebook")
        (server.root / "a.txt").write_text("")
        for path in ("../outside.ipynb", str(outside), "link.ipynb", "a.txt", "bad.ipynb", "x/../../outside.ipynb", "a\0b", ""):
            for mode in ("resume", "continue"):
                self.refused("invalid", "POST", "/sessions", {"mode": mode, "path": path})
        self.refused("not_found", "POST", "/sessions", {"mode": "resume", "path": "none.ipynb"})
        self.assertEqual(sorted(p.name for p in (server.root / "notebooks").glob("*continued*")), [])

    def test_jupyter_gives_browsers_the_same_kernel(self) -> None:
        with server.open("GET", "/api/sessions") as answer:
            models = json.loads(answer.read())
        mine = server.ask("GET", "/sessions/" + session)
        self.assertEqual([m["kernel"]["id"] for m in models if m["path"] == mine["path"]], [mine["kernel_id"]])
        self.assertEqual(server.ask("GET", "")["seer_notebook"], 1)
        self.assertEqual(mine["setup"], [{"name": "start", "ok": True, "error": ""}])


class Running(unittest.TestCase):
    def tearDown(self) -> None:
        server.ask("POST", "/sessions/%s/interrupt" % session)
        until(lambda: server.ask("GET", "/sessions/" + session)["state"] == "idle", "the end of what a test began")

    def test_events_come_while_it_runs(self) -> None:
        go = server.root / "go on"
        made = server.add(session, "import os, time\nprint('first')\n"
                                   "while not os.path.exists('go on'): time.sleep(0.02)\nprint('last')\nready")
        events, seen = server.events(made["execution"]["id"]), []
        for event in events:
            seen.append(event)
            if "first" in text(seen) and not go.exists():
                self.assertEqual(server.ask("GET", "/sessions/" + session)["state"], "busy")
                shown = until(lambda: server.cells(session)[made["cell"]["index"]]["outputs"], "the outputs in the notebook")
                self.assertEqual(shown[0]["text"], "first\n")
                until(lambda: "first\\n" in server.path(session).read_text(), "the saved notebook")
                self.assertEqual(server.cells(session)[made["cell"]["index"]]["state"], "running")
                go.write_text("")
        self.assertEqual([e["n"] for e in seen], list(range(1, len(seen) + 1)))
        self.assertEqual(text(seen), "first\nlast\n")
        self.assertEqual(seen[-2]["output"]["data"]["text/plain"], "'set up'")
        self.assertEqual(seen[-1]["execution"]["state"], "done")
        self.assertEqual(seen[-1]["execution"]["events"], len(seen))

    def test_a_silent_cell_is_waited_for(self) -> None:
        go = server.root / "go on from silence"
        made = server.add(session, "import os, time\nwhile not os.path.exists('go on from silence'): time.sleep(0.02)\nprint('done')")
        name, seen, rounds = made["execution"]["id"], [], 0
        while not seen or seen[-1]["t"] != "end":
            got = list(server.events(name, (seen[-1]["n"] if seen else 0) + 1, 0.3))
            if got[-1]["t"] == "waiting":
                rounds += 1
                go.touch()
            seen += [e for e in got if e["t"] != "waiting"]
        self.assertGreater(rounds, 0)
        self.assertEqual([e["n"] for e in seen], list(range(1, len(seen) + 1)))
        self.assertEqual([e["t"] for e in server.events(name)], [e["t"] for e in seen])

    def test_an_error_is_the_users_own(self) -> None:
        ended = server.run(session, "def f():\n    1/0\nf()")
        self.assertEqual((ended["state"], ended["error"]["ename"]), ("error", "ZeroDivisionError"))
        self.assertIn("in f()", re.sub(r"\x1b\[[0-9;]*m", "", "".join(ended["error"]["traceback"])))
        self.assertEqual(server.run(session, "print(ready)")["text"], "set up\n")

    def test_nobody_answers_input(self) -> None:
        ended = server.run(session, "input('name? ')")
        self.assertEqual((ended["state"], ended["error"]["ename"]), ("error", "StdinNotImplementedError"))
        self.assertIn("input", [e["t"] for e in ended["events"]])

    def test_displays_change(self) -> None:
        code = ("from IPython.display import display, clear_output\nh = display('one', display_id='d1')\nprint('gone')\n"
                "clear_output(wait=True)\nprint('kept')\nh2 = display('two', display_id='d2')\nh2.update('three')")
        made = server.add(session, code)
        ended = server.ended(made["execution"]["id"])
        self.assertEqual([e["t"] for e in ended["events"]], ["output", "output", "clear", "output", "output", "update", "end"])
        outputs = server.cells(session)[made["cell"]["index"]]["outputs"]
        self.assertEqual([o.get("text") or o["data"]["text/plain"] for o in outputs], ["kept\n", "'three'"])
        server.run(session, "h2.update('four')")  # from another cell
        outputs = server.cells(session)[made["cell"]["index"]]["outputs"]
        self.assertEqual(outputs[1]["data"]["text/plain"], "'four'")

    def test_hidden_code_leaves_no_cell(self) -> None:
        before = len(server.cells(session))
        ended = server.run(session, "found = 7; print(found)", hidden=True)
        self.assertEqual((ended["text"], ended["cell"], ended["execution_count"]), ("7\n", None, None))
        self.assertEqual(len(server.cells(session)), before)
        self.assertEqual(server.run(session, "print(any('found = 7' in x for x in In[:-1]))")["text"], "False\n")

    def test_two_clients_share_the_queue(self) -> None:
        go = server.root / "both"
        first = server.add(session, "import os, time\nprint('on', flush=True)\nwhile not os.path.exists('both'): time.sleep(0.02)")
        next(e for e in server.events(first["execution"]["id"]) if "on" in str(e))
        waiting = [server.add(session, "print(%d)" % n, key="key%d" % n) for n in range(3)]
        self.assertEqual([w["execution"]["position"] for w in waiting], [1, 2, 3])
        again = server.add(session, "print(1)", key="key1")
        self.assertEqual((again["execution"]["id"], again["cell"]["id"]), (waiting[1]["execution"]["id"], waiting[1]["cell"]["id"]))
        self.assertEqual(server.ask("DELETE", "/executions/" + waiting[0]["execution"]["id"])["state"], "dropped")
        self.assertEqual(server.ask("GET", "/executions/" + waiting[2]["execution"]["id"])["position"], 2)
        states = {c["id"]: c["state"] for c in server.cells(session)}
        self.assertEqual([states[w["cell"]["id"]] for w in [first, *waiting]], ["running", "idle", "queued", "queued"])
        with self.assertRaises(Failed) as caught:
            server.ask("GET", "/sessions/%s/variables" % session)
        self.assertEqual(caught.exception.code, "conflict")
        with self.assertRaises(Failed) as caught:
            server.ask("DELETE", "/sessions/%s/cells/%s" % (session, first["cell"]["id"]))
        self.assertEqual(caught.exception.code, "conflict")
        go.write_text("")
        self.assertEqual(server.ended(waiting[2]["execution"]["id"])["text"], "2\n")

    def test_an_interrupt_drops_the_queue(self) -> None:
        running = server.add(session, "import time\nprint('on')\ntime.sleep(600)")
        waiting = server.add(session, "print('never')")
        next(e for e in server.events(running["execution"]["id"]) if "on" in str(e))
        self.assertEqual(server.ask("POST", "/sessions/%s/interrupt" % session)["dropped"], 1)
        ended = server.ended(running["execution"]["id"])
        self.assertEqual((ended["state"], ended["error"]["ename"]), ("interrupted", "KeyboardInterrupt"))
        self.assertEqual(server.ended(waiting["execution"]["id"])["state"], "dropped")
        self.assertEqual(server.run(session, "print(ready)")["text"], "set up\n")

    def test_an_interrupt_at_the_very_beginning_is_not_lost(self) -> None:
        for _ in range(8):
            name = server.add(session, "import time; time.sleep(600)")["execution"]["id"]
            server.ask("DELETE", "/executions/" + name)
            self.assertIn(server.ended(name)["state"], ("interrupted", "dropped"))
        self.assertEqual(server.run(session, "print('on')")["text"], "on\n")

    def test_cells_are_changed_moved_and_deleted(self) -> None:
        base = "/sessions/%s/cells" % session
        total = len(server.cells(session))
        note = server.ask("POST", base, {"type": "markdown", "source": "# é 日本", "index": 0})["cell"]
        self.assertEqual((note["index"], note["type"]), (0, "markdown"))
        code = server.add(session, "1+1")
        server.ended(code["execution"]["id"])
        self.assertEqual(server.ask("POST", "%s/%s/move" % (base, note["id"]), {"index": -1})["cell"]["index"], total + 1)
        edited = server.ask("PATCH", base + "/-2", {"source": "2+2", "run": True})
        self.assertEqual(edited["cell"]["id"], code["cell"]["id"])
        server.ended(edited["execution"]["id"])
        cell = server.cells(session, "?from=%d&count=1" % total)[0]
        self.assertEqual((cell["source"], cell["outputs"][0]["data"]["text/plain"]), ("2+2", "4"))
        again = server.ask("POST", "%s/%s/run" % (base, cell["id"]), {})
        self.assertEqual(server.ended(again["execution"]["id"])["state"], "done")
        raw = server.ask("PATCH", "%s/%s" % (base, note["id"]), {"type": "raw"})["cell"]
        self.assertEqual((raw["type"], raw["source"]), ("raw", "# é 日本"))
        for name in (note["id"], cell["id"]):
            server.ask("DELETE", "%s/%s" % (base, name))
        self.assertEqual(len(server.cells(session)), total)

    def test_the_notebook_is_waited_for(self) -> None:
        path = "/seer/v1/sessions/%s/notebook" % session
        until(lambda: server.ask("GET", "/sessions/" + session)["state"] == "idle", "idle")
        with server.open("GET", path) as answer:
            version = answer.headers["X-Seer-Version"]
            self.assertEqual(json.loads(answer.read())["nbformat_minor"], 5)
        query = "?unless=%s&wait=" % urllib.parse.quote(version)
        with server.open("GET", path + query + "0.1") as answer:
            self.assertEqual(answer.status, 304)
        server.add(session, "5")
        with server.open("GET", path + query + "30") as answer:
            self.assertEqual(answer.status, 200)
            self.assertNotEqual(answer.headers["X-Seer-Version"], version)


class Variables(unittest.TestCase):
    def test_they_are_described_without_running_much(self) -> None:
        server.run(session, "import sys; sys.path.append('/usr/lib/python3/dist-packages')\n"
                            "text_ = 'x' * 5000; numbers = [1, [2, {'a': (3,)}]]; big = 10 ** 6\n"
                            "def double(n: int = 2) -> int: return n\n"
                            "class Slow:\n    def __repr__(self):\n        while True: pass\n"
                            "class Bad:\n    def __repr__(self): raise ValueError\n"
                            "class Good:\n    def __repr__(self): return 'Good()'\n"
                            "bad, good, slow = Bad(), Good(), Slow()\nimport json as j")
        found = {v["name"]: v for v in server.ask("GET", "/sessions/%s/variables" % session)["variables"]}
        self.assertEqual(found["text_"]["length"], 5000)
        self.assertLessEqual(len(found["text_"]["preview"]), 200)
        self.assertEqual(found["numbers"]["preview"], "[1, [2, {'a': (3,)}]]")
        self.assertEqual(found["double"]["preview"], "double(n: int = 2) -> int")
        self.assertEqual((found["slow"]["preview"], found["good"]["type"]), ("<Slow>", "Good"))
        self.assertIn("ValueError", found["bad"]["preview"])
        self.assertEqual(found["j"]["preview"], "module json")
        self.assertEqual([n for n in found if n.startswith("_") or n in ("In", "Out", "exit", "quit", "get_ipython")], [])
        one = server.ask("GET", "/sessions/%s/variables?name=big" % session)["variables"]
        self.assertEqual([(v["name"], v["preview"]) for v in one], [("big", "1000000")])
        with self.assertRaises(Failed):
            server.ask("GET", "/sessions/%s/variables?name=nobody" % session)

    def test_libraries_that_are_loaded_are_known(self) -> None:
        ended = server.run(session, "import sys; sys.path.append('/usr/lib/python3/dist-packages')\nimport numpy\n"
                                    "array = numpy.zeros((3, 4)); one = numpy.float32(2)\n"
                                    "from PIL import Image; image = Image.new('RGB', (8, 6))\n"
                                    "import pandas; frame = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']}); column = frame['a']")
        self.assertEqual(ended["state"], "done", ended["error"])
        found = {v["name"]: v for v in server.ask("GET", "/sessions/%s/variables" % session)["variables"]}
        self.assertEqual((found["array"]["shape"], found["array"]["dtype"], found["array"]["bytes"]), ([3, 4], "float64", 96))
        self.assertEqual((found["frame"]["shape"], found["frame"]["length"]), ([2, 2], 2))
        self.assertIn("a int64", found["frame"]["preview"])
        self.assertEqual(found["column"]["preview"], "[1, 2]")
        self.assertEqual(found["image"]["preview"], "image 8x6 RGB")
        self.assertEqual(found["one"]["dtype"], "float32")


if __name__ == "__main__":
    unittest.main()
