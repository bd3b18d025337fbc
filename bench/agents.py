"""Agents: requests to their language model, what they print, many at once, and the page of a long run."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from lab import Lab
from measure import Row, in_turns, median, rounds
from memory import family, share

FOUND = Tuple[List[Row], List[str]]
ROUNDS, BATCH = 15, 60
PEER = "the same request to the scripted model, Go's `net/http`"
MESSAGES = 5000
CROWD = 50
SLEEP = "1000000"  # seconds
PATIENCE = 300  # seconds until all agents sleep


def measure(lab: Lab) -> FOUND:
    rows = []
    for first, what in ((True, "a streamed answer through the proxy, until its first byte"), (False, "the same, the whole of 200 words")):
        found = in_turns({
            "proxy": lab.repeated("ask", first=first),
            "direct": lab.repeated("ask", first=first, direct=True),
        }, ROUNDS, BATCH, warm=10)
        rows.append(Row(what, "–", found["proxy"], PEER, found["direct"]))
    page, notes = long_page(lab)
    return rows + printed(lab) + page, notes + [many(lab)]


def printed(lab: Lab) -> List[Row]:
    rows = []
    for driver, title in (("claude", "Claude Code's stream"), ("acp", "the Agent Client Protocol")):
        file = lab.root / ("said-" + driver)
        file.write_text("".join(json.dumps(line(driver, n), separators=(",", ":")) + "\n" for n in range(MESSAGES)))
        found = in_turns({
            "driver": lab.repeated("hear", driver=driver, file=str(file)),
            "lines": lab.repeated("hear", direct=True, file=str(file)),
        }, 10, 3, warm=1)
        rows.append(Row("a message of %s through the driver, of %d" % (title, MESSAGES), "–", found["driver"], "the lines of the same program, `bufio`", found["lines"]))
    return rows


def line(driver: str, n: int) -> Dict[str, Any]:
    """A message as the program prints it."""
    content = {"type": "text", "text": "word " * 40}
    if driver == "claude":
        return {"type": "assistant", "message": {"id": "m%d" % n, "role": "assistant", "content": [content]}}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m%d" % n, "content": content}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


def long_page(lab: Lab) -> FOUND:
    """The page of a long run: how long Seer takes to make it, and a browser to open it."""
    folder = lab.helper("recorded", dir=str(lab.root / "recorded"), count=MESSAGES)["folder"]
    page, empty = lab.root / "page.html", lab.root / "empty.html"
    empty.write_text("<!DOCTYPE html><title>empty</title><p>nothing")
    took = lab.run(lab.seer, "runs", "export", folder, "--html", "-o", str(page))
    made = "`seer runs export --html` of a run with %d messages and as many tool calls took %.2f s; the page has %.1f MB." % (
        MESSAGES, took, page.stat().st_size / 1e6)
    browser = chromium()
    if browser is None:
        return [], [made + " Its opening was not measured, because there is no Chromium."]
    argv = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + str(lab.root / "chromium"), "--dump-dom"]
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # its processes would take turns
    try:
        found = rounds({"page": lambda: lab.run(*argv, page.as_uri()), "empty": lambda: lab.run(*argv, empty.as_uri())}, 5)
    finally:
        os.sched_setaffinity(0, pinned)
    row = Row("Chromium starts and opens the page of a run with 5000 messages", "–", found["page"], "the same with an empty page", found["empty"])
    return [row], [made + " Chromium opened it in %.1f s beyond an empty page." % (median(found["page"]) - median(found["empty"]))]


def chromium() -> Optional[str]:
    return shutil.which("chromium") or shutil.which("google-chrome")


def many(lab: Lab) -> str:
    """What agents hold that only sleep: by seer run, and in bare bubblewrap."""
    lab.up("crowd", "bubblewrap")
    started = []
    for n in range(CROWD):
        folder = lab.folder("agent-%d" % n)
        (folder / "seer.yaml").write_text("name: agent\nsandbox: {provider: local, isolation: bubblewrap}\nagent: {command: [sleep, '%s']}\n" % SLEEP)
        argv = [lab.seer, "run", "--yes", "--in", "crowd", str(folder / "seer.yaml"), "--quiet"]
        started.append(subprocess.Popen(argv, cwd=str(folder), env=lab.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    ours = held(started)
    lab.run(lab.seer, "down", "crowd")
    bare = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "sleep", SLEEP]
    theirs = held([subprocess.Popen(bare, env=lab.env) for _ in range(CROWD)])
    return ("%d agents at once that sleep (`provider: command`, `seer run --in` one sandbox, which is not counted) hold %.1f MiB each: `seer`, bubblewrap and the agent. "
            "The same commands in bare `bwrap` hold %.1f MiB each; the ratio is **%.1f**." % (CROWD, ours, theirs, ours / theirs))


def held(started: List["subprocess.Popen[bytes]"]) -> float:
    """MiB of each, when all agents sleep; then it ends them."""
    try:
        end = time.monotonic() + PATIENCE
        while sum(map(sleeps, family(p.pid for p in started))) < len(started):
            if time.monotonic() > end or any(p.poll() is not None for p in started):
                raise SystemExit("bench: not all of %d agents have started" % len(started))
            time.sleep(0.2)
        return share(family(p.pid for p in started)) / len(started) / 2**20
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait()


def sleeps(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes() == ("sleep\0%s\0" % SLEEP).encode()
    except OSError:
        return False
