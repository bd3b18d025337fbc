"""The path is a key of its own: who does not know it is not told it, and no cookie is for another one."""

import http.cookiejar
import os
import signal
import sys
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, List, Tuple

from harness import LIMIT, PACKAGE, TOKEN, Server

sys.path.insert(0, str(PACKAGE))

from seer_notebook.server.base_path import leads_elsewhere, own_host
from seer_notebook.settings import Mistake, slashes

BASE, NEXT = "/aBc-123_first/", "/another-one/"


class Neighbour(HTTPServer):
    """Another sandbox's page: it keeps what browsers send it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Heard)
        self.heard: List[str] = []
        self.thread = Thread(target=self.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Heard(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.heard.append(str(self.headers))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class Door(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(base_url=BASE)
        self.addCleanup(self.server.close)

    def ask(self, base: str, path: str = "seer/v1", **more: Any) -> Tuple[int, str, str]:
        with self.server.open(more.pop("method", "GET"), base + path, **more) as answer:
            return answer.status, str(answer.headers), answer.read().decode()

    def test_all_of_it(self) -> None:
        self.nobody_is_told()
        self.names()
        self.cookies_stay()
        self.moved()

    def nobody_is_told(self) -> None:
        outside = ["/", "//", "/login", "/lab", "/seer/v1", "/static/", "/api/status", "/favicon.ico", BASE[:-2] + "/", "/x?next=/",
                   "/%61Bc-123_first/"]
        for path in outside:
            for method in ("GET", "POST", "OPTIONS", "PUT", "TRACE"):
                for headers in ({}, {"Upgrade": "websocket", "Origin": "http://127.0.0.1:1"}, {"Authorization": "Bearer " + TOKEN}):
                    status, head, body = self.ask("", path, method=method, headers=headers)
                    self.assertIn(status, (404, 405), path)
                    self.assertNotIn(BASE.strip("/"), head + body, path)
                    self.assertNotIn("Set-Cookie", head)
        self.assertEqual(self.ask(BASE, headers={})[0], 403)
        self.assertEqual(self.ask(BASE)[0], 200)

    def names(self) -> None:
        """Only this server's own name leads in, besides those of loopback."""
        bearer = {"Authorization": "Bearer " + TOKEN}
        for host, status in {"127.0.0.1:1": 200, "localhost": 200, "[::1]:80": 200, own_host(BASE) + ":80": 200,
                             own_host(BASE).upper(): 200,
                             own_host(NEXT): 404, "evil.example:%d" % self.server.port: 404, "127.0.0.1.evil.example": 404}.items():
            self.assertEqual(self.ask(BASE, headers={**bearer, "Host": host})[0], status, host)

    def cookies_stay(self) -> None:
        neighbour = Neighbour()
        self.addCleanup(neighbour.close)
        self.jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        own = "http://127.0.0.1:%d%s" % (self.server.port, BASE)
        self.assertEqual(browser.open(own + "seer/v1?token=" + TOKEN, timeout=LIMIT).headers["Referrer-Policy"], "same-origin")
        self.assertTrue([c for c in self.jar if c.name.startswith("username-")])
        self.assertEqual(browser.open(own + "seer/v1", timeout=LIMIT).status, 200, "the cookie is a key")
        for path in ("/", "/lab", "/lab/tree/x", BASE[:-1] + "x/", "/seer/v1"):
            browser.open("http://127.0.0.1:%d%s" % (neighbour.server_port, path), timeout=LIMIT)
            self.assertNotIn("Cookie", neighbour.heard[-1], path)
        # What this test would not see: a neighbour who knows the path is sent the cookie.
        browser.open("http://127.0.0.1:%d%s" % (neighbour.server_port, BASE), timeout=LIMIT)
        self.assertIn("username-", neighbour.heard[-1])

    def moved(self) -> None:
        """A copy of the sandbox has a path of its own, also when its server is started again."""
        renewed = TOKEN[::-1]
        for wrong in ("/a.b/", "../x", "/é/", "/a b/", "/(x)/"):
            self.assertEqual(self.ask(BASE, "seer/v1/renew", method="POST", body={"token": renewed, "base_url": wrong})[0], 400, wrong)
        self.assertEqual(self.ask(BASE, "seer/v1/renew", method="POST", body={"token": renewed, "base_url": NEXT})[0], 200)
        for again in (False, True):
            if again:
                os.kill(self.server.server_pid(), signal.SIGKILL)
            bearer = {"Authorization": "Bearer " + renewed}
            self.assertEqual(self.ask(BASE, headers=bearer)[0], 404)
            self.assertEqual(self.ask(NEXT)[0], 403)
            self.assertEqual(self.ask(NEXT, headers=bearer)[0], 200)
            status, head, body = self.ask(NEXT, "login", headers={})
            self.assertEqual(status, 200)
            self.assertNotIn(BASE, head + body)
            self.assertIn(NEXT, head + body)
            # Redirections with the path asked for, and words that repeat it.
            for path in ("lab/", "lab/tree/", "seer/v1/", "api/contents/nix/", ""):
                status, head, body = self.ask(NEXT, path, headers=bearer)
                self.assertNotIn(BASE, head + body, path)
                self.assertIn(NEXT, head + body, path)
            for path in ("favicon.ico", "robots.txt"):
                self.assertEqual(self.ask(NEXT, path, headers={})[0], 404, path)
            old = {"Cookie": "; ".join("%s=%s" % (c.name, c.value) for c in self.jar)}
            self.assertEqual(self.ask(NEXT, headers=old)[0], 403)


class Names(unittest.TestCase):
    def test_the_same_as_in_go(self) -> None:
        self.assertEqual(own_host("/abc/"), "seer-360880995ad256edc05daafec8914e05.localhost")
        self.assertTrue(leads_elsewhere("a.example", "/abc/"))


class Mistakes(unittest.TestCase):
    def test_paths(self) -> None:
        for given, wanted in {"": "/", "/": "/", "a": "/a/", "//a/b_-9//": "/a/b_-9/"}.items():
            self.assertEqual(slashes(given), wanted)
        for wrong in ("a.b", "(a", "a+", "%61", "a b", "é", "a\n"):
            with self.assertRaises(Mistake):
                slashes(wrong)
