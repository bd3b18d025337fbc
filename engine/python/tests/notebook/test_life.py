"""What dies, and what becomes of the rest: kernels, the server, the supervisor; what it does not start with."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import LIMIT, PACKAGE, TOKEN, Failed, Server, alive, launch, until

SETUP = [{"name": "start", "code": "import os\nready = os.environ['GREETING']"}]


class Life(unittest.TestCase):
    def setUp(self) -> None:
        self.activity = tempfile.NamedTemporaryFile()
        os.utime(self.activity.name, (1, 1))
        self.server = Server({"SEER_ACTIVITY": self.activity.name}, setup=SETUP, kernel_env={"GREETING": "hello é"})
        self.addCleanup(self.activity.close)

    def test_all_of_it(self) -> None:
        try:
            self.prepared_and_taken()
            self.heard_by_nobody()
            self.hangs_and_lives()
            self.kernel_killed()
            self.restarted_on_purpose()
            self.restarted_in_the_browser()
            self.server_killed()
        except BaseException:
            self.server.close()
            raise
        self.ended()

    def prepared_and_taken(self) -> None:
        s = self.server
        prepared = s.ask("POST", "/sessions", {"mode": "prepare"})["session"]
        self.assertEqual((prepared["state"], prepared["path"], prepared["cells"]), ("prepared", "", 0))
        with self.assertRaises(Failed) as caught:
            s.ask("GET", "/sessions/%s/cells" % prepared["id"])
        self.assertEqual(caught.exception.code, "conflict")
        taken = s.ask("POST", "/sessions", {"mode": "new", "name": "Über / 日本 \n.."})["session"]
        self.assertEqual((taken["id"], taken["kernel_id"], taken["state"]), (prepared["id"], prepared["kernel_id"], "idle"))
        self.assertRegex(taken["path"], r"^notebooks/\d{4}-\d\d-\d\d-\d\d-\d\d_Über - 日本 -?\.ipynb$")
        self.session = taken["id"]
        ended = s.run(self.session, "print(ready, os.getcwd() == %r, os.environ.get('SEER_ACTIVITY'), "
                                    "'seer' in os.environ.get('PYTHONPATH', ''))" % str(s.root))
        self.assertEqual(ended["text"], "hello é True None False\n")

    def heard_by_nobody(self) -> None:
        """What kernels say is for no other user, and for no other sandbox that shares the network."""
        code = ("from ipykernel.connect import get_connection_info\ninfo = get_connection_info(unpack=True)\n"
                "print(info['transport'], os.path.dirname(info['ip']), sep='|', end='')")
        transport, self.sockets = self.server.run(self.session, code)["text"].split("|")
        self.assertEqual((transport, os.stat(self.sockets).st_mode & 0o77), ("ipc", 0))

    def hangs_and_lives(self) -> None:
        """It holds Python's lock in a library and answers nobody, for longer than a death takes to be noticed."""
        ended = self.server.run(self.session, "import ctypes; ctypes.PyDLL(None).sleep(4); print('lives')")
        self.assertEqual((ended["state"], ended["text"]), ("done", "lives\n"))

    def kernel_killed(self) -> None:
        s = self.server
        go = s.private / "go"
        dying = s.add(self.session, "import time; print('alive', flush=True)\nwhile not os.path.exists(%r): time.sleep(0.05)\n"
                                    "os.kill(os.getpid(), 9)" % str(go))
        waiting = s.add(self.session, "print('never')")
        next(e for e in s.events(dying["execution"]["id"]) if "alive" in str(e))
        go.write_text("")
        ended = s.ended(dying["execution"]["id"])
        self.assertEqual((ended["state"], ended["text"]), ("dead", "alive\n"))
        self.assertIn("SIGKILL", str(ended["events"]))
        until(lambda: "KernelDied" in s.path(self.session).read_text(), "the death in the notebook's file")
        written = json.loads(s.path(self.session).read_text())["cells"][dying["cell"]["index"]]["outputs"]
        self.assertEqual((written[-1]["output_type"], written[-1]["ename"]), ("error", "KernelDied"))
        self.assertIn("signal 9 (SIGKILL)", written[-1]["evalue"])
        self.assertLess(ended["ended_unix"] - ended["started_unix"], 30)
        self.assertEqual(s.ended(waiting["execution"]["id"])["state"], "dropped")
        session = s.ask("GET", "/sessions/" + self.session)
        self.assertEqual(session["state"], "dead")
        self.assertIn("signal 9 (SIGKILL): perhaps it used more memory", session["message"])
        self.assertGreater(os.stat(self.activity.name).st_mtime, 1)
        with self.assertRaises(Failed) as caught:
            s.add(self.session, "1")
        self.assertIn("restart", caught.exception.message)
        cells = len(s.cells(self.session))
        self.assertEqual(s.ask("POST", "/sessions/%s/restart" % self.session, {})["state"], "idle")
        self.assertEqual(s.run(self.session, "print(ready)")["text"], "hello é\n")
        self.assertEqual(len(s.cells(self.session)), cells + 1)

    def restarted_on_purpose(self) -> None:
        s = self.server
        running = s.add(self.session, "mine = 1; print('on', flush=True); import time; time.sleep(600)")
        next(e for e in s.events(running["execution"]["id"]) if "on" in str(e))
        answer = s.ask("POST", "/sessions/%s/restart" % self.session, {"setup": False})
        self.assertEqual((answer["state"], answer["setup"]), ("idle", []))
        self.assertEqual(s.ended(running["execution"]["id"])["state"], "dead")
        ended = s.run(self.session, "print('mine' in dir(), 'ready' in dir())")
        self.assertEqual((ended["text"], ended["execution_count"]), ("False False\n", 1))

    def restarted_in_the_browser(self) -> None:
        s = self.server
        kernel = s.ask("GET", "/sessions/" + self.session)["kernel_id"]

        def restart() -> None:
            with s.open("POST", "/api/kernels/%s/restart" % kernel, b"{}") as answer:
                self.assertEqual(answer.status, 200)

        def again() -> bool:
            now = s.ask("GET", "/sessions/" + self.session)
            return now["state"] == "idle" and bool(now["setup"])

        def has_all() -> None:
            until(again, "the set-up after a restart")
            self.assertEqual(s.run(self.session, "print(ready)")["text"], "hello é\n")

        restart()
        has_all()
        restart()
        restart()  # while the set-up is done
        has_all()
        os.kill(int(s.run(self.session, "import os; print(os.getpid())")["text"]), signal.SIGKILL)
        until(lambda: s.ask("GET", "/sessions/" + self.session)["state"] == "dead", "the death of the kernel")
        until(lambda: "has died" in "".join(s.log), "what Jupyter does about it")
        restart()
        has_all()

    def server_killed(self) -> None:
        s = self.server
        s.run(self.session, "print('before')")
        kernel = int(s.run(self.session, "print(os.getpid())")["text"])
        running = s.add(self.session, "print('on', flush=True); import time; time.sleep(600)")
        next(e for e in s.events(running["execution"]["id"]) if "on" in str(e))
        waiting = s.add(self.session, "2")
        until(lambda: "before\\n" in s.path(self.session).read_text(), "the saved output")
        os.kill(s.server_pid(), signal.SIGKILL)
        session = s.ask("GET", "/sessions/" + self.session)  # it waits until there is a server again
        self.assertEqual((session["state"], session["id"]), ("dead", self.session))
        self.assertIn("server ended unexpectedly", session["message"])
        until(lambda: not alive(kernel), "the end of the kernel")
        self.assertIn("before\n", str([c["outputs"] for c in s.cells(self.session)]).replace("\\n", "\n"))
        self.assertEqual(s.ended(running["execution"]["id"])["state"], "dead")
        self.assertEqual(s.ended(waiting["execution"]["id"])["state"], "dropped")
        self.assertEqual(s.ask("POST", "/sessions/%s/restart" % self.session, {})["state"], "idle")
        self.assertEqual(s.run(self.session, "print(ready)")["text"], "hello é\n")

    def ended(self) -> None:
        s = self.server
        kernel = int(s.run(self.session, "print(os.getpid(), 'the last')")["text"].split()[0])
        path, server = s.path(self.session), s.server_pid()
        s.child.send_signal(signal.SIGTERM)
        self.assertEqual(s.child.wait(LIMIT), 0)
        self.assertFalse(alive(server))
        until(lambda: not alive(kernel), "the end of the kernel")
        self.assertIn("the last", json.dumps(json.loads(path.read_text())))
        self.assertEqual([p.name for p in s.private.iterdir() if p.name.startswith("seer-notebook")], [])
        self.assertFalse(os.path.exists(self.sockets))
        self.assertNotIn(TOKEN, "".join(s.log))
        s.close()


class Restarted(unittest.TestCase):
    def test_in_the_browser_while_something_takes_long(self) -> None:
        """A person's restart interrupts what runs, before the process ends."""
        slow = "import os, time\nopen(%r, 'a').write('begun\\n')\nwhile not os.path.exists(%r): time.sleep(0.05)\nready = 7"
        with tempfile.TemporaryDirectory() as folder:
            begun, go = os.path.join(folder, "begun"), os.path.join(folder, "go")
            open(go, "w").close()
            server = Server(setup=[{"name": "slow", "code": slow % (begun, go)}])
            self.addCleanup(server.close)
            session = server.new()
            kernel = server.ask("GET", "/sessions/" + session)["kernel_id"]

            def restart() -> None:
                with server.open("POST", "/api/kernels/%s/restart" % kernel, b"{}") as answer:
                    self.assertEqual(answer.status, 200)

            def count() -> int:
                with open(begun) as f:
                    return len(f.readlines())

            os.remove(go)
            restart()  # the set-up does not end
            until(lambda: count() == 2, "the set-up after a restart")
            restart()
            until(lambda: count() == 3, "the set-up after a restart within it")
            self.assertEqual(server.ask("GET", "/sessions/" + session)["state"], "restarting")
            open(go, "w").close()
            until(lambda: server.ask("GET", "/sessions/" + session)["state"] == "idle", "the end of the set-up")
            self.assertEqual(server.run(session, "print(ready)")["text"], "7\n")

            running = server.add(session, "print('on', flush=True)\nimport time; time.sleep(600)")
            waiting = server.add(session, "open(%r, 'a').write('never')" % begun)
            next(e for e in server.events(running["execution"]["id"]) if "on" in str(e))
            restart()
            self.assertIn(server.ended(running["execution"]["id"])["state"], ("interrupted", "dead"))
            self.assertEqual(server.ended(waiting["execution"]["id"])["state"], "dropped")
            until(lambda: server.ask("GET", "/sessions/" + session)["state"] == "idle", "the set-up again")
            self.assertEqual((server.run(session, "print(ready)")["text"], count()), ("7\n", 4))
            with open(begun) as f:
                self.assertNotIn("never", f.read())

            os.remove(go)
            restart()
            until(lambda: count() == 5, "the set-up before the end")
            server.ask("DELETE", "/sessions/" + session)
            until(lambda: not json.loads(server.open("GET", "/api/kernels").read()), "the end of the kernel")


class Starting(unittest.TestCase):
    def test_a_failing_set_up_is_the_users_own_error(self) -> None:
        bad = "def f():\n    raise KeyError('Hidden-Word')\nf()"
        server = Server(setup=[{"name": "good", "code": "x = 1"}, {"name": "bad", "code": bad, "hidden": True}])
        self.addCleanup(server.close)
        with self.assertRaises(Failed) as caught:
            server.ask("POST", "/sessions", {"mode": "prepare"})
        self.assertEqual(caught.exception.code, "failed")
        self.assertIn("KeyError: 'Hidden-Word'", caught.exception.message)
        self.assertIn("in f()", caught.exception.message)
        self.assertEqual(server.ask("GET", "/sessions")["sessions"], [])
        with server.open("GET", "/api/kernels") as answer:
            self.assertEqual(json.loads(answer.read()), [])
        # The supervisor is killed: nothing of it stays, but a folder that the next one removes.
        pid = server.server_pid()
        server.child.kill()
        until(lambda: not alive(pid), "the end of the server")
        (left,) = server.private.glob("seer-notebook-*")
        other = server.private / "seer-notebook-of-another-program"
        other.mkdir()
        child = launch(server.config, {"TMPDIR": str(server.private)})
        self.addCleanup(child.stderr.close)
        until(lambda: not left.exists(), "the removal of what was left")
        self.assertTrue(other.exists())
        until(lambda: len(list(server.private.glob("seer-notebook-*"))) == 2, "its own folder")
        child.terminate()
        self.assertEqual(child.wait(LIMIT), 0)
        self.assertEqual(list(server.private.glob("seer-notebook-*")), [other])

    def test_a_taken_port_and_mistakes(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            good = {"root": root, "ip": "127.0.0.1", "port": 0, "token": TOKEN}

            taken = socket.socket()
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            cases = [(98, {**good, "port": taken.getsockname()[1]}, "it is taken"), (2, {**good, "token": ""}, "token must have"),
                     (2, {**good, "root": root + "/none"}, "root is not a folder"), (2, {**good, "other": 1}, "'other' is not known")]
            for code, config, message in cases:
                child = launch(config)
                said = child.stderr.read().decode()
                self.assertEqual((child.wait(LIMIT), len(said.splitlines())), (code, 1), said)
                self.assertIn(message, said)
                child.stderr.close()
            taken.close()
        command = [sys.executable, "-B", "-m", "seer_notebook", "--config", "/none"]
        none = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual((none.returncode, len(none.stderr.splitlines())), (2, 1))


if __name__ == "__main__":
    unittest.main()
