"""Kills `seer up` with SIGKILL at each step of a start, and some moments after each, until a start ends.

usage: kills.py FILE PROVIDER PREFIX CHECK

Steps are the events that --json shows. CHECK is a command of the shell which prints what is there twice.
After each step a collection leaves only sandboxes that were ready, and these are ended.
"""
import json, os, subprocess, sys, time

SEER = os.environ["SEER"]
FILE, PROVIDER, PREFIX, CHECK = sys.argv[1:]


def run(*args: str) -> str:
    return subprocess.run([SEER, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def killed(name: str, step: int, delay: float) -> str:
    """Returns at which event the start was killed; empty: it was done before."""
    p = subprocess.Popen([SEER, "up", FILE, "--name", name, "--yes", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seen = ""
    for number, line in enumerate(p.stderr, 1):
        seen = json.loads(line).get("event", {}).get("type", "error")
        if number == step:
            time.sleep(delay)
            break
    else:
        assert p.wait() == 0, (name, seen)
        return ""
    p.kill()
    p.stderr.close()
    return seen if p.wait() != 0 else ""


def collect() -> list:
    """Returns the names of the sandboxes that a collection has left, and ends them: they were ready."""
    run("gc", "--provider", PROVIDER)
    left = [s for s in json.loads(run("ls", "--json")) if s["name"].startswith(PREFIX + "-")]
    for s in left:
        assert s["state"] == "running", s
        run("down", s["id"])
    return [s["name"] for s in left]


steps, ready = [], []
for step in range(1, 100):
    ends = [killed(f"{PREFIX}-{step}-{n}", step, delay) for n, delay in enumerate((0, 0.1, 0.3, 0.6))]
    twice = subprocess.run(["bash", "-c", CHECK], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert not twice, twice
    ready += collect()
    if not ends[0]:
        break
    steps.append(ends[0])
print(f"killed at {len(steps)} steps:", *steps)
print("were ready:", *ready)
