"""The least of an MCP client over standard input and output: it begins a session and calls tools."""

import json
import subprocess
from typing import Any, Dict

from lab import Lab


class Tools:
    """The tools of `seer mcp` with some arguments."""

    def __init__(self, lab: Lab, *argv: str) -> None:
        self._process = subprocess.Popen([lab.seer, "mcp", *argv], env=lab.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        lab.processes.append(self._process)
        self._last = 0
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str, **arguments: Any) -> Dict[str, Any]:
        """The structured content of a tool's answer."""
        result = self._ask("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise SystemExit("bench: the tool %s: %s" % (name, result["content"]))
        content: Dict[str, Any] = result["structuredContent"]
        return content

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        self._last += 1
        self._say({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                if "error" in message:
                    raise SystemExit("bench: %s: %s" % (method, message["error"]))
                result: Dict[str, Any] = message["result"]
                return result
        raise SystemExit("bench: seer mcp ended under %s" % method)

    def _say(self, message: Dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
