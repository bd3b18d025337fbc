#!/usr/bin/env python3
"""The program of an agent, under the name of any of the four. It starts its MCP servers as it is configured, and like
most of them says nothing of one that fails. Codex and opencode ask their model until it refuses, which their limit of
turns depends on; the two others have a flag. Gemini CLI goes on after its turn."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

NAME = os.path.basename(sys.argv[0])
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}


def say(message):
    print(json.dumps(message), flush=True)


def start(servers):
    for s in servers:
        process = subprocess.Popen([s["command"], *s["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.close()
        process.stdout.read()
        process.wait()


def ask(url, body):
    """Asks the model again and again, and returns why that ends."""
    body["tools"] = [{"type": "function", "name": "shell"}]
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["SEER_MODEL_TOKEN"]}
    for _ in range(20):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
                if answer.headers.get_content_type() == "text/event-stream":
                    answer.read()
        except urllib.error.HTTPError as e:
            return json.load(e)["error"]["message"]
        except (http.client.HTTPException, OSError) as e:
            return "the answer broke off: %r" % e
    return "nobody stops it"


def claude():
    option = next(a for a in sys.argv if a.startswith("--mcp-config="))
    with open(option.partition("=")[2]) as f:
        start(json.load(f)["mcpServers"].values())
    say({"type": "result", "subtype": "success"})


def codex():
    with open(os.environ["CODEX_HOME"] + "/config.toml") as f:
        text = f.read()

    def values(key):  # strings and lists of TOML
        return [json.loads(v) for v in re.findall(r"^%s = (.*)$" % key, text, re.M)]

    start({"command": c, "args": a} for c, a in zip(values("command"), values("args")))
    say({"type": "turn.failed", "error": {"message": ask(values("base_url")[0] + "/responses", {"model": "m"})}})
    sys.exit(1)


def acp():
    for line in sys.stdin:
        message = json.loads(line)
        method, answer = message.get("method"), {"jsonrpc": "2.0", "id": message.get("id")}
        if method == "initialize":
            say(dict(answer, result={"protocolVersion": 1}))
        elif method == "session/new":
            start(message["params"]["mcpServers"])
            say(dict(answer, result={"sessionId": "s"}))
        elif method == "session/prompt" and NAME == "opencode":
            with open(os.environ["OPENCODE_CONFIG"]) as f:
                url = json.load(f)["provider"]["seer"]["options"]["baseURL"]
            say(dict(answer, error={"code": -32603, "message": ask(url + "/chat/completions", {"model": "m"})}))
        elif method == "session/prompt" and NAME == "gemini":
            say(dict(answer, result={"stopReason": "end_turn"}))
            signal.pause()
        elif method == "session/prompt":
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I never end."}}
            say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})


if "--version" in sys.argv:
    print("99.0.0")
else:
    {"claude": claude, "codex": codex}.get(NAME, acp)()
