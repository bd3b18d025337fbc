"""Runs cells in the notebook of a sandbox: cells.py JUPYTER_URL < CODE; prints what they print, in a new session or,
with a name as second argument, in that one. Exits with 1 where a cell raises."""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request
from typing import Any, Dict, Optional

URL = urllib.parse.urlsplit(sys.argv[1])
TOKEN = urllib.parse.parse_qs(URL.query)["token"][0]


def ask(path: str, body: Optional[Dict[str, Any]] = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    where = "%s://%s%s/seer/v1%s" % (URL.scheme, URL.netloc, URL.path.rstrip("/"), path)
    request = urllib.request.Request(where, data=data, headers={"Authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return answer.read()


def session(name: str) -> str:
    for known in json.loads(ask("/sessions"))["sessions"]:
        if known["name"] == name and known["state"] not in ("dead", "closed"):
            return known["id"]
    return json.loads(ask("/sessions", {"mode": "new", "name": name}))["session"]["id"]


def main() -> int:
    at = session(sys.argv[2])
    if sys.argv[3:] == ["restart"]:
        ask("/sessions/%s/restart" % at, {"setup": True})
        return 0
    run = json.loads(ask("/sessions/%s/cells" % at, {"type": "code", "source": sys.stdin.read(), "run": True}))["execution"]
    n = 1
    while True:
        for line in ask("/executions/%s/events?from=%d&wait=30" % (run["id"], n)).splitlines():
            event = json.loads(line)
            n = event["n"] + 1
            if event["t"] == "end":
                print(ask("/executions/%s/text?limit=10000000" % run["id"]).decode(), end="")
                error = event["execution"]["error"]
                print("\n".join(error["traceback"]) if error else "", end="", file=sys.stderr)
                return 0 if event["execution"]["state"] == "done" else 1


if __name__ == "__main__":
    sys.exit(main())
