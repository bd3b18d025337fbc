"""A call as the original made it: http.server, one thread, HTTP/1.0, JSON {fn, args, kwargs}."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer


def echo(text: str) -> str:
    return text


FUNCTIONS = {"echo": echo}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = FUNCTIONS[request["fn"]](*request["args"], **request["kwargs"])
        body = json.dumps({"result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The peer is not slowed down by its log."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
