"""The agent of the tests, which prints what Claude Code prints: it does what its prompt asks if it has the functions, and
says what it was given otherwise."""

import json
import os
import subprocess


def called(server, name, arguments):
    """What a tool of an MCP server returns, as text."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}},
    ]
    env = {**os.environ, **server.get("env", {})}
    with subprocess.Popen([server["command"], *server["args"]], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        child.stdin.write("".join(json.dumps(a) + "\n" for a in asked))
        child.stdin.flush()
        answer = {}
        while answer.get("id") != 2:
            answer = json.loads(child.stdout.readline())
        child.stdin.close()
    return answer["result"]["content"][0]["text"]


def say(*words):
    text = " ".join(map(str, words))
    print(json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}), flush=True)


try:
    import helpers
    import model_tools
except ImportError:
    with open(os.environ["SEER_PROMPT"]) as prompt, open(os.environ["SEER_MCP_CONFIG"]) as config:
        say(prompt.read())
        servers = json.load(config)["mcpServers"]
    say("servers:", *sorted(servers))
    if "tools" in servers:
        say("activations:", json.loads(called(servers["tools"], "get_activations", {"prompt": "the fox", "layer": 1}))["shape"])
else:
    size = len(model_tools.get_embedding("the fox")["embedding"])
    say(helpers.format_result({**model_tools.get_model_info(), "embedding": f"{size} numbers"}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "", "stop_reason": "end_turn"}))
