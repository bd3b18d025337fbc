"""A cell prints 1 GB: all of it is kept, and the service's memory stays below what docs/notebook.md says.

usage: much.py URL TOKEN SERVER_PID
"""

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Dict

MB = 1 << 20
MORE = 200 * MB  # than what a kernel has said and the service has not taken yet, which on a slow machine may be all of it
LEFT = 200 * MB  # after lines, of what the service had had in memory
LINES = 100_000  # of 10 kB: the limit of what is kept is 1 GiB
CODE = """
line = 'x' * 9999 + '\\n'
for i in range(%d):
    print(line, end='')
"""
AT_ONCE = "import sys\nsys.stdout.write('y' * %d)\nNone"


def main(url: str, token: str, pid: int) -> None:
    def ask(method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + "seer/v1" + path, data, {"Authorization": "Bearer " + token}, method=method)
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.loads(answer.read())

    def count(execution: str, letter: bytes) -> int:
        """How often it is in all that was printed. A kernel may have said a word of its own about how long it took."""
        request = urllib.request.Request(url + "seer/v1/executions/%s/text" % execution, headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return sum(piece.count(letter) for piece in iter(lambda: answer.read(MB), b""))

    def memory(field: str) -> int:
        lines = Path("/proc/%d/status" % pid).read_text().splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024

    def run(session: str, code: str) -> Dict[str, Any]:
        made = ask("POST", "/sessions/%s/cells" % session, {"source": code, "run": True})
        name = made["execution"]["id"]
        while made["execution"]["state"] in ("queued", "running"):
            time.sleep(0.2)
            made["execution"] = ask("GET", "/executions/" + name)
        return made["execution"]

    for what, code, letter, size in (("line by line", CODE % LINES, b"x", 9_999 * LINES),
                                     ("at once, without a line's end", AT_ONCE % (1000 * MB), b"y", 1000 * MB)):
        bound = size + MORE
        session = ask("POST", "/sessions", {"mode": "new", "name": "much"})["session"]["id"]
        run(session, "print('warm')")
        Path("/proc/%d/clear_refs" % pid).write_text("5")  # the peak begins anew
        before = memory("VmRSS")
        ended = run(session, code)
        grown = memory("VmHWM") - before
        print("1 GB %s: the service's memory grew by %d MB at the most" % (what, grown / MB), flush=True)
        assert ended["state"] == "done" and ended["text_bytes"] >= size and ended["cut"], ended
        found = count(ended["id"], letter)
        assert found == size, "%s: %d bytes of %d are there" % (what, found, size)
        assert grown < bound, "%s: %d MB, more than %d" % (what, grown / MB, bound / MB)
        if letter == b"x":  # lines are let go one by one; a text without an end is there in one piece
            end = time.monotonic() + 300
            while memory("VmRSS") - before > LEFT and time.monotonic() < end:
                time.sleep(0.2)
            left = memory("VmRSS") - before
            print("1 GB %s: %d MB of it are left" % (what, left / MB), flush=True)
            assert left <= LEFT, "%s: %d MB are left, more than %d" % (what, left / MB, LEFT / MB)
        ask("DELETE", "/sessions/" + session)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
