"""OpenAI's own Python client, with a model that was written down: its tool calls run in the sandbox."""
import copy
import http.server
import json
import threading
from typing import List

import pydantic
from openai import OpenAI
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import ChatCompletionToolParam

from tools import CallError, call, run, tools

pydantic.TypeAdapter(List[ChatCompletionToolParam]).validate_python(tools, strict=True)
strict = [t["function"] for t in tools if t["function"]["strict"]]
assert {f["name"] for f in strict} >= {"add", "paint", "move", "count"}, strict
for f in strict:  # nothing would have to be changed for strict mode
    want = f["parameters"]
    assert _ensure_strict_json_schema(copy.deepcopy(want), path=(), root=want) == want, f

WANTED = [
    ("add", {"a": 2, "b": 3}, 5),
    ("greet", {"name": "Ada"}, "Hello, Ada!"),
    ("paint", {"color": "red", "way": "fast"}, "red fast"),
    ("move", {"point": {"x": 1, "y": 2}, "by": [0.5, -2]}, {"x": 1.5, "y": 0}),
    ("positional", {"a": 1, "c": 4}, [1, 2, 4]),
    ("everything", {"a": 1, "rest": [7, 8], "mode": "max", "more": {"k": "v"}}, {"a": 1, "b": 2, "rest": [7, 8], "mode": "max", "more": {"k": "v"}}),
    ("nothing", {}, None),
    ("count", {"n": 3}, [0, 1, 2]),
    ("gr__e", {"text": "ä\U0001f600"}, 2),
    ("a_function_with_a_name_that_is_much_longer_than_what_the_api_tak", {}, "long"),
]


class Model(http.server.BaseHTTPRequestHandler):
    """Asks for one tool after the other, in pairs, and then says goodbye."""

    seen: List[dict] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions" and body["tools"] == tools, self.path
        answered = [m for m in body["messages"] if m["role"] == "tool"]
        Model.seen = answered
        n = len(answered)
        calls = [{"id": f"call_{n + i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                 for i, (name, arguments, _) in enumerate(WANTED[n:n + 2])]
        message = {"role": "assistant", "content": None if calls else "goodbye", **({"tool_calls": calls} if calls else {})}
        text = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "scripted",
                           "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
# The guide's own program, as it stands in README.md.
with open("tools/README.md", encoding="utf-8") as f:
    program = f.read().split("```python\n")[1].split("```")[0]
program = program.replace("OpenAI()", "OpenAI(base_url=url, api_key='none')")
scope: dict = {"url": f"http://127.0.0.1:{server.server_port}/v1"}
exec(compile(program, "README.md", "exec"), scope)
assert scope["message"].content == "goodbye"
got = [json.loads(m["content"]) for m in Model.seen]
assert got == [want for _, _, want in WANTED], got

assert "too bad" in json.loads(call("fails", '{"why": "too bad"}'))["error"]
assert "error" in json.loads(call("add", '{"a": "x"}')) and "error" in json.loads(call("no_such", "{}"))
try:
    run("fails", {"why": "too bad"})
    raise SystemExit("it did not fail")
except CallError:
    pass
print(f"{len(WANTED)} tool calls of the official client, {len(strict)} of {len(tools)} tools strict")
