"""An MCP server by standard input and output, for recordings: add(a, b), fail() and wait(seconds)."""

import json
import sys
import time

TOOLS = [
    {"name": "add", "description": "Adds two numbers.",
     "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "wait", "description": "Waits.",
     "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}},
]


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "calc", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "add":
        total = params["arguments"]["a"] + params["arguments"]["b"]
        return {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"sum": total}}
    if method == "tools/call" and params["name"] == "wait":
        time.sleep(params["arguments"]["seconds"])
        return {"content": [{"type": "text", "text": "waited"}], "structuredContent": {"waited": True}}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "it failed"}], "structuredContent": {}, "isError": True}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params", {}))}), flush=True)
