"""The official MCP server of RunPod as a child, and what its tools say and do."""
import json
import subprocess


class ToolError(Exception):
    """What a tool answered instead of a result."""


class Server:
    def __init__(self, program):
        with open("mcp.log", "w") as log:
            self.process = subprocess.Popen(
                ["node", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.last = 0
        self.info = self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "seer-e2e", "version": "1"}})
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.schemas = {tool["name"]: tool["inputSchema"] for tool in self.request("tools/list", {})["tools"]}

    def write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise ToolError(json.dumps(answer["error"]))
                return answer["result"]
        raise EOFError("the MCP server has ended")

    def call(self, name, **arguments):
        """The result of a tool: a value, or text where it is not JSON."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise ToolError(text)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def close(self):
        self.process.stdin.close()
        self.process.wait(300)
