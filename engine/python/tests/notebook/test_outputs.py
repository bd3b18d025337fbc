"""Much output: it is all there, memory stays flat, the notebook stays small. And hidden set-up, which leaves no source."""

import unittest
from pathlib import Path

from harness import Server, until

MB = 1 << 20
server: Server


def setUpModule() -> None:
    global server
    server = Server(setup=[
        {"name": "load", "code": "marker = 'mark' + 'er-of-setup'  # the-source-of-setup\ndef helper(): return 1", "hidden": True},
        {"name": "open", "code": "def shown(): return 2"}])


def tearDownModule() -> None:
    if server.close() != 0:
        raise AssertionError("".join(server.log))


def peak() -> int:
    """The most memory that the server has had, in bytes."""
    lines = Path("/proc/%d/status" % server.server_pid()).read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


class Much(unittest.TestCase):
    def test_200_mb_are_printed(self) -> None:
        session = server.new("much")
        server.run(session, "print('warm')")
        before = peak()
        made = server.add(session, "print('the head')\nline = 'x' * (2**20 - 1)\n"
                                   "for i in range(200): print(line, flush=True)\nprint('the tail', end='')")
        name = made["execution"]["id"]
        until(lambda: server.ask("GET", "/executions/" + name)["state"] not in ("queued", "running"), "the end")
        ended = server.ended(name)
        self.assertEqual((ended["state"], ended["cut"], ended["text_bytes"]), ("done", True, 200 * MB + 17))
        self.assertLess(peak() - before, 250 * MB)  # at the most what the kernel is ahead, and that is not all of it twice
        self.assertEqual(ended["events"][0]["t"], "note")
        self.assertIn("no longer kept", ended["events"][0]["text"])
        cell = server.cells(session)[made["cell"]["index"]]
        texts = [o["text"] for o in cell["outputs"]]
        self.assertLess(sum(map(len, texts)), MB + 1000)
        self.assertTrue(texts[0].startswith("the head\n") and texts[-1].endswith("the tail"))
        self.assertIn("bytes of text are left out here; all of it is in " + str(server.private), texts[1])
        self.assertLess(server.path(session).stat().st_size, 2 * MB)
        with server.open("GET", "/seer/v1/executions/%s/text?offset=%d" % (name, 200 * MB)) as answer:
            self.assertEqual(answer.headers["X-Seer-Size"], str(200 * MB + 17))
            self.assertTrue(answer.read().endswith(b"x\nthe tail"))
        with server.open("GET", "/seer/v1/executions/%s/text?offset=4&limit=4" % name) as answer:
            self.assertEqual(answer.read(), b"head")

    def test_300_outputs_with_images(self) -> None:
        session = server.new("images")
        made = server.add(session, "from IPython.display import display\nimport base64, os\n"
                                   "for i in range(300):\n"
                                   "    image = base64.b64encode(os.urandom(3000)).decode()\n"
                                   "    display({'image/png': image, 'text/plain': str(i)}, raw=True)\n"
                                   "display({'image/png': 'A' * (17 << 20), 'text/plain': 'large'}, raw=True)")
        ended = server.ended(made["execution"]["id"])
        self.assertEqual(len(ended["events"]), 302)
        outputs = server.cells(session)[0]["outputs"]
        self.assertEqual([o["data"]["text/plain"] for o in outputs[:300]], [str(i) for i in range(300)])
        self.assertEqual(len(outputs[7]["data"]["image/png"]), 4000)
        note = "large\n[image/png of %d bytes is left out: more than %d]" % (17 << 20, 16 << 20)
        self.assertEqual(outputs[300]["data"], {"text/plain": note})
        short = server.cells(session, "?outputs=short")[0]["outputs"][0]["data"]
        self.assertEqual(short, {"image/png": "[image/png, 4000 bytes]", "text/plain": "0"})
        self.assertEqual(server.cells(session, "?outputs=none")[0]["outputs"], [])


    def test_100_mb_in_one_message(self) -> None:
        session = server.new("at once")
        server.run(session, "print('warm')")
        Path("/proc/%d/clear_refs" % server.server_pid()).write_text("5")  # the peak begins anew
        before = peak()
        made = server.add(session, "import sys\nsys.stdout.write('x\\n' * (50 << 20))\nNone")
        name = made["execution"]["id"]
        until(lambda: server.ask("GET", "/executions/" + name)["state"] not in ("queued", "running"), "the end")
        self.assertEqual(server.ask("GET", "/executions/" + name)["text_bytes"], 100 * MB)
        self.assertLess(peak() - before, 270 * MB)  # the message, whose line ends take two bytes each, and the events

    def test_5000_small_flushes(self) -> None:
        session = server.new("small")
        made = server.add(session, "for i in range(5000): print('%099d' % i, flush=True)")
        server.ended(made["execution"]["id"])
        with server.open("GET", "/seer/v1/executions/%s/text" % made["execution"]["id"]) as answer:
            self.assertEqual(answer.read().decode(), "".join("%099d\n" % i for i in range(5000)))


class HiddenSetUp(unittest.TestCase):
    def test_hidden_set_up_leaves_no_source(self) -> None:
        session = server.new("look")
        ended = server.run(session, """
import gc, linecache, os, glob, inspect
needle = 'the-source' + '-of-setup'  # the one text that has it
def texts():
    for o in gc.get_objects():
        if type(o) is dict:
            yield from (v for v in o.values() if isinstance(v, str))
        elif type(o) in (list, tuple):
            yield from (v for v in o if isinstance(v, str))
print(helper(), marker, sum(needle in t for t in texts()), needle in str(list(linecache.cache.values())))
print(needle in str(In), needle in str(get_ipython().history_manager.input_hist_raw), needle in str(get_ipython().last_execution_result))
print([p for p in glob.glob('/tmp/ipykernel_%d/*' % os.getpid()) if needle in open(p).read()])
print(needle in str(get_ipython().get_parent()), needle in str(get_ipython().kernel.get_parent('shell')))
try: inspect.getsource(helper); print('found')
except OSError: print('no source')
print(inspect.getsource(shown), end='')
get_ipython().run_line_magic('history', '')
""")
        self.assertIn("1 marker-of-setup 1 False\nFalse False False\n[]\nFalse False\nno source\ndef shown(): return 2",
                      ended["text"], ended["error"])
        self.assertNotIn("def helper", ended["text"].split("import gc")[0])
        self.assertEqual([s["name"] for s in server.ask("GET", "/sessions/" + session)["setup"]], ["load", "open"])


if __name__ == "__main__":
    unittest.main()
