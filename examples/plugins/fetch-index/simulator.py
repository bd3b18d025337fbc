"""A server with one model, for `seer plugin test`: it listens where SEER_SIMULATOR_ADDR
says, tells its address, and ends when its input does."""

import hashlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILES = {"config.json": b'{"layers": 2}', "weights/w.bin": bytes(range(256)) * 64}
INDEX = {"default": "r1", "revisions": [{"name": "r1", "files": [
    {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in FILES.items()
]}]}
PAGES = {"/team/tiny/index.json": json.dumps(INDEX).encode(), **{f"/team/tiny/r1/{path}": data for path, data in FILES.items()}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        page = PAGES.get(self.path)
        body = b'{"error": "there is no such file"}' if page is None else page
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


host, port = os.environ.get("SEER_SIMULATOR_ADDR", "127.0.0.1:0").rsplit(":", 1)
server = ThreadingHTTPServer((host, int(port)), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://{host}:{server.server_port}", flush=True)
sys.stdin.read()
