"""An MCP server with an address, which asks for a key. Prints the address."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict

WORD = {"name": "word", "description": "Tells the word.", "inputSchema": {"type": "object", "properties": {}}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked: Dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results: Dict[str, Dict[str, Any]] = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}},
            "tools/list": {"tools": [WORD]},
            "tools/call": {"content": [{"type": "text", "text": "the word is kumquat"}]},
            "ping": {},
        }
        if self.headers["Authorization"] != "Bearer real-key-of-the-user":
            self.answer(401, b"")
        elif "id" not in asked:
            self.answer(202, b"")
        else:
            answer: Dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
            if asked["method"] in results:
                answer["result"] = results[asked["method"]]
            else:
                answer["error"] = {"code": -32601, "message": "no such method"}
            self.answer(200, ("event: message\ndata: " + json.dumps(answer) + "\n\n").encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
server.serve_forever()
