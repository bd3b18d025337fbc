"""What the checks need: the program, an agent's end of MCP, a terminal, a free port."""
import json
import os
import pty
import select
import subprocess
import time
from typing import Any, Dict, List, Optional

SEER = os.environ["SEER"]


def seer(*args: str, ok: bool = True) -> str:
    p = subprocess.run([SEER, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if ok and p.returncode:
        raise SystemExit("seer {} ended with {}:\n{}{}".format(" ".join(args), p.returncode, p.stdout, p.stderr))
    return p.stdout if ok else p.stdout + p.stderr


def run(ref: str, command: str) -> str:
    return seer("exec", ref, "--", "sh", "-c", command)


def write(name: str, text: str) -> str:
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    return name


def experiment(name: str, sandbox: Dict[str, Any], workspace: Optional[Dict[str, Any]] = None) -> str:
    return write(name + ".yaml", json.dumps({"sandbox": dict(sandbox, timeout="30m"), "workspace": workspace or {}}))


class MCP:
    """A client over standard input and output, as an agent's program is one."""

    def __init__(self, *args: str) -> None:
        self.p = subprocess.Popen([SEER, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.n = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message: Dict[str, Any]) -> None:
        self.p.stdin.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
        self.p.stdin.flush()

    def ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        self.n += 1
        self.send({"id": self.n, "method": method, "params": params})
        for line in self.p.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.n and "method" not in answer:
                assert "error" not in answer, answer
                return answer["result"]
        raise SystemExit("the MCP server ended")

    def call(self, tool: str, **arguments: Any) -> Dict[str, Any]:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def cell(self, code: str) -> str:
        """What a cell prints, however long it takes."""
        said = self.call("execute_code", code=code)
        while said["state"] in ("queued", "running"):
            said = self.call("wait_execution", execution_id=said["execution_id"])
        assert said["state"] == "done", said
        return "".join(o.get("text", "") for o in said["outputs"])

    def close(self) -> None:
        self.p.stdin.close()
        assert self.p.wait(300) == 0


def terminal(argv: List[str], typed: str, marker: str) -> int:
    """Types into a program that has a terminal, waits for the marker and for its end."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(argv[0], argv)
    os.write(fd, typed.encode())
    seen, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            data = b""
        if not data:
            break
        seen += data
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    assert marker.encode() in seen, seen
    return code
