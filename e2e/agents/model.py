"""A scripted model behind the four interfaces that agents speak: Anthropic's Messages,
OpenAI's Responses and Chat Completions, and Gemini's generateContent. It makes the same
tool calls whoever asks, and writes down what the tools answered, one JSON line each, and
the first request that knows of the skill see-red.

usage: model.py LOG; the port is the first line of its output"""

from __future__ import annotations

import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Container, Dict, Iterator, List, NamedTuple, Optional, Tuple, Type

Json = Dict[str, Any]


class Turn(NamedTuple):
    """What the model sees: names of tools, and what has been called with what answer."""

    tools: List[Tuple[str, Optional[str]]]  # and their namespaces
    results: List[Tuple[str, str]]


class Call(NamedTuple):
    tool: str
    arguments: Json


PENDING = re.compile(r"call-result with \{\W*call\W*: \W*([A-Za-z0-9_.-]*[A-Za-z0-9])")


def answers(results: List[Tuple[str, str]]) -> Dict[str, str]:
    """What each tool has said: its call may have been handed over and answered by call-result, and on a slow computer any is."""
    said: Dict[str, str] = {}
    tool = ""
    for name, text in results:
        if name == "finish":
            said[name] = "called"  # what it lets end is waited for
            continue
        tool = tool if name == "call-result" else name
        said[tool] = text
    return said


def next_call(results: List[Tuple[str, str]]) -> Optional[Call]:
    """The script: plain results, a handle, a call that goes on until another ends it, an error."""
    said = answers(results)
    pending = [found.group(1) for found in map(PENDING.search, said.values()) if found]
    if pending and len(results) < 200:
        if "loss" in said.get("train", "") and "finish" not in said:
            return Call("finish", {})
        return Call("call-result", {"call": pending[-1]})
    handle = re.search(r"\bh-[A-Za-z0-9_.-]*[A-Za-z0-9]", said.get("embed", ""))
    if "add" not in said:
        return Call("add", {"a": 2, "b": 3})
    if "embed" not in said:
        return Call("embed", {"n": 2000})
    if "handle-read" not in said:
        return Call("handle-read", {"handle": handle.group() if handle else "none", "reduce": "max"})
    if "total" not in said:
        return Call("total", {"xs": {"handle": handle.group() if handle else "none"}})
    if "plot" not in said:
        return Call("plot", {})
    if "train" not in said:
        return Call("train", {"steps": 8})
    if "fail" not in said:
        return Call("fail", {})
    return None


def use_skill(results: List[Tuple[str, str]], known: Container[str]) -> Optional[Call]:
    """Loads the skill and does what it says, where the agent has the tools of Claude Code."""
    said = dict(results)
    if "Skill" in known and "Skill" not in said:
        return Call("Skill", {"skill": "see-red"})
    if "Bash" in known and "Skill" in said and "Bash" not in said:
        code = "import see_red; print(see_red.add(40, 2))"
        return Call("Bash", {"command": f"PYTHONPATH=.claude/skills/see-red/scripts {os.environ['PYTHON']} -c '{code}'"})
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log_path = ""
    seen: Dict[str, int] = {}
    # What another script has otherwise: the name of its MCP server, a tool by which its
    # requests are known, and a skill.
    prefix, mark, skill = "tools", "add", "see-red"

    def plan(self, results: List[Tuple[str, str]], known: Container[str]) -> Optional[Call]:
        return next_call(results) or use_skill(results, known)

    def short(self, name: str, namespace: Optional[str] = None) -> str:
        """The tool's name without what the agent has put before it."""
        plain = re.sub(rf"^.*?{self.prefix}(__|_|\.|:|-)+", "", name) if namespace is None else name
        return {"handle_read": "handle-read", "call_result": "call-result", "call_cancel": "call-cancel"}.get(plain, plain)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer({"data": [], "models": [], "object": "list"})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = self.chunks()
        if self.skill.encode() in raw and "skill" not in self.seen:
            self.seen["skill"] = 1
            self.note("skill", raw.decode(errors="replace"))
        body: Json = json.loads(raw or b"{}")
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            self.answer({"input_tokens": 10, "totalTokens": 10})
        elif path.endswith("/messages"):
            self.anthropic(body)
        elif path.endswith("/responses"):
            self.openai(body)
        elif path.endswith("/chat/completions"):
            self.chat(body)
        elif "enerateContent" in path:
            self.gemini(body, path.endswith(":streamGenerateContent"))
        else:
            self.answer({})

    def chunks(self) -> bytes:
        out = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            out += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return out

    def choose(self, api: str, turn: Turn) -> Tuple[Optional[str], Optional[str], Json]:
        """The tool to be called by the name the agent knows it by, with its namespace and arguments."""
        new = turn.results[self.seen.get(api, 0):]
        self.seen[api] = len(turn.results)
        for name, text in new:
            self.note(name, text)
        known = {self.short(name, space): (name, space) for name, space in turn.tools}
        call = self.plan(turn.results, known)
        if self.mark not in known or call is None:  # a request for a title or the like
            return None, None, {}
        name, space = known[call.tool]
        return name, space, call.arguments

    def note(self, tool: str, result: str) -> None:
        with open(self.log_path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"tool": tool, "result": result}) + "\n")

    def answer(self, body: Json) -> None:
        self.send(json.dumps(body).encode(), "application/json")

    def events(self, events: Iterator[Tuple[Optional[str], Any]]) -> None:
        text = ""
        for name, event in events:
            text += f"event: {name}\n" if name else ""
            text += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
        self.send(text.encode(), "text/event-stream")

    def send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    # Anthropic

    def anthropic(self, body: Json) -> None:
        names: Dict[str, str] = {}
        results = []
        for message in body.get("messages", []):
            for part in message["content"] if isinstance(message["content"], list) else []:
                if part["type"] == "tool_use":
                    names[part["id"]] = self.short(part["name"])
                elif part["type"] == "tool_result":
                    results.append((names.get(part["tool_use_id"], "?"), text_of(part.get("content"))))
        tools = [(t["name"], None) for t in body.get("tools", [])]
        name, _, arguments = self.choose("anthropic", Turn(tools, results))
        block: Json = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "finished"}
        if name is not None:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        reason = "end_turn" if name is None else "tool_use"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            whole = {"type": "text", "text": "finished"} if name is None else {**block, "input": arguments}
            self.answer({**message, "content": [whole], "stop_reason": reason})
            return
        kinds: List[Json] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        self.events((e["type"], e) for e in kinds)

    # OpenAI

    def openai(self, body: Json) -> None:
        names: Dict[str, str] = {}
        results = []
        for item in body.get("input", []):
            if item.get("type") == "function_call":
                names[item["call_id"]] = self.short(item["name"], item.get("namespace"))
            elif item.get("type") == "function_call_output":
                results.append((names.get(item["call_id"], "?"), text_of(item["output"])))
        tools: List[Tuple[str, Optional[str]]] = []
        for tool in body.get("tools", []):
            if tool.get("type") == "namespace":
                tools += [(t["name"], tool["name"]) for t in tool["tools"] if self.prefix in tool["name"]]
            elif "name" in tool:
                tools.append((tool["name"], None))
        name, space, arguments = self.choose("responses", Turn(tools, results))
        item: Json
        if name is None:
            item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "finished", "annotations": []}]}
        else:
            item = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": f"call_{len(results)}", "name": name,
                    "arguments": json.dumps(arguments), "status": "completed", **({"namespace": space} if space else {})}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens_details": {"reasoning_tokens": 0}}
        done = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        kinds: List[Json] = [
            {"type": "response.created", "response": {"id": "r1", "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        self.events((e["type"], e) for e in kinds)

    def chat(self, body: Json) -> None:
        names: Dict[str, str] = {}
        results = []
        for message in body.get("messages", []):
            for call in message.get("tool_calls") or []:
                names[call["id"]] = self.short(call["function"]["name"])
            if message["role"] == "tool":
                results.append((names.get(message["tool_call_id"], "?"), text_of(message["content"])))
        tools = [(t["function"]["name"], None) for t in body.get("tools") or []]
        name, _, arguments = self.choose("chat", Turn(tools, results))
        delta: Json = {"role": "assistant", "content": "finished"}
        if name is not None:
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{len(results)}", "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "m")}
        reason = "stop" if name is None else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": reason}
            self.answer({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self.events(iter([
            (None, {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
            (None, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
            (None, "[DONE]"),
        ]))

    # Gemini

    def gemini(self, body: Json, stream: bool) -> None:
        results = []
        for content in body.get("contents", []):
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    answer = part["functionResponse"]
                    results.append((self.short(answer["name"]), json.dumps(answer["response"], ensure_ascii=False)))
        tools = [(f["name"], None) for t in body.get("tools", []) for f in t.get("functionDeclarations", [])]
        name, _, arguments = self.choose("gemini", Turn(tools, results))
        part: Json = {"text": "finished"} if name is None else {"functionCall": {"name": name, "args": arguments}}
        if name is None and "json" in str(body.get("generationConfig", {}).get("responseMimeType", "")):
            done = {"next_speaker": "user", "reasoning": "done", "complexity_score": 1, "complexity_reasoning": "simple"}
            part = {"text": json.dumps(done)}
        out = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
               "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        if stream:
            self.events(iter([(None, out)]))
        else:
            self.answer(out)


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(p.get("text") or f"[{p.get('type')}]" for p in content or [])


def serve(handler: Type[Handler], log: str) -> None:
    handler.log_path = log
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Handler, sys.argv[1])
