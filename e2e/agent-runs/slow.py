"""An MCP server, not of Seer, with one tool: wait(seconds)."""

import json
import sys
import time

TOOLS = [
    {"name": "wait", "description": "Waits.",
     "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}},
]


def result(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        seconds = params["arguments"]["seconds"]
        time.sleep(seconds)
        return {"content": [{"type": "text", "text": "waited %d s" % seconds}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params", {}))}), flush=True)
