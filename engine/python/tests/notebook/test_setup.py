"""A set-up that comes after the server."""

import os
import signal
import unittest

from harness import Failed, Server, until


class SetUp(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(setup=[{"name": "start", "code": "value = 'old'"}])
        self.addCleanup(self.server.close)

    def value(self, session: str) -> str:
        return self.server.run(session, "print(value)")["text"].strip()

    def prepared(self) -> list:
        return [s["id"] for s in self.server.ask("GET", "/sessions")["sessions"] if s["state"] == "prepared"]

    def test_later_kernels_have_it(self) -> None:
        s = self.server
        used = s.new("used")
        s.ask("POST", "/sessions", {"mode": "prepare"})
        new = {"setup": [{"name": "later", "code": "value = 'new'", "hidden": True}], "key": "one"}
        made = s.ask("PUT", "/setup", new)
        self.assertEqual((made["state"], made["setup"]), ("prepared", [{"name": "later", "ok": True, "error": ""}]))
        self.assertEqual(s.ask("PUT", "/setup", new)["id"], made["id"])  # a repeat
        self.assertEqual(self.prepared(), [made["id"]])
        self.assertEqual(self.value(used), "old")
        taken, another = s.new("taken"), s.new("another")
        self.assertEqual(taken, made["id"])
        self.assertEqual((self.value(taken), self.value(another)), ("new", "new"))
        s.ask("POST", "/sessions/%s/restart" % used, {})
        self.assertEqual(self.value(used), "new")
        os.kill(s.server_pid(), signal.SIGKILL)
        until(lambda: s.ask("GET", "/sessions/" + used)["state"] == "dead", "another server")
        self.assertEqual(self.value(s.new("after")), "new")

    def test_one_that_fails(self) -> None:
        s = self.server
        for setup in ([{"name": "wrong", "code": "1 / 0"}], [{"kode": "1"}], None):
            with self.assertRaises(Failed) as caught:
                s.ask("PUT", "/setup", {"setup": setup})
            self.assertEqual(caught.exception.code, "failed" if setup and "code" in setup[0] else "invalid")
        self.assertEqual(self.prepared(), [])
        self.assertEqual(self.value(s.new("after")), "old")
