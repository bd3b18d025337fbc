#!/usr/bin/env python3
"""An agent that speaks ACP and the chat completions of OpenAI. Its argument lists its faults."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

faults = sys.argv[1].split(",")


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


class Server:
    """An MCP server, by standard input and output."""

    def __init__(self, spec):
        env = {**os.environ, **{e["name"]: e["value"] for e in spec.get("env", [])}}
        self.process = subprocess.Popen([spec["command"], *spec["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.number, self.prefix = 0, "" if "plain" in faults else spec["name"] + "_"
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
        self.ask("initialize", about)
        self.write({"method": "notifications/initialized"})
        self.tools = self.ask("tools/list", {})["tools"]

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.write({"id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number and "method" not in answer:
                return answer.get("result", {})

    def call(self, name, arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        return "".join(part.get("text", "") for part in result.get("content", []))


def complete(messages, servers):
    tools = [{"type": "function", "function": {"name": s.prefix + t["name"], "parameters": t["inputSchema"]}} for s in servers for t in s.tools]
    body = {"model": os.environ["MODEL"], "messages": messages, **({"tools": tools} if tools else {})}
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def use(servers, name, arguments):
    if "denied" in faults:
        return "The user has denied this tool."
    if "impatient" in faults and name.endswith("call-result"):
        return "The tool took too long."
    server = next(s for s in servers if name in [s.prefix + t["name"] for t in s.tools])
    text = server.call(name[len(server.prefix):], arguments)
    return text.replace("h-", "x-") if "mangler" in faults else text


def work(prompt, servers):
    text = "Hello." if "blind" in faults else prompt
    if "leaky" in faults:
        for path in ["../AGENTS.md", sys.argv[2]]:
            with open(path) as f:
                text += f.read()
    messages = [{"role": "user", "content": text}]
    while True:
        answer = complete(messages, servers)
        messages.append(answer)
        if not answer.get("tool_calls"):
            return answer["content"]
        for call in answer["tool_calls"]:
            result = use(servers, call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def prompt(message, servers):
    text = "".join(part.get("text", "") for part in message["params"]["prompt"])
    try:
        said = work(text, servers)
    except urllib.error.HTTPError as e:
        if "silent" not in faults:
            send({"id": message["id"], "error": {"code": -32603, "message": "the model answered %d" % e.code}})
            return
        said = ""
    if "mute" not in faults:
        content = {"type": "text", "text": said}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    send({"id": message["id"], "result": {"stopReason": "end_turn"}})


def main():
    if "dies" in faults:
        sys.exit("the licence of this agent has ended")
    if "stubborn" in faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "daemon" in faults:
        subprocess.Popen(["/bin/sleep", "600"], env={}, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    servers = []
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}})
        elif method == "session/new":
            if "toolless" not in faults:
                servers = [Server(spec) for spec in message["params"]["mcpServers"]]
            send({"id": message["id"], "result": {"sessionId": "s"}})
        elif method == "session/prompt":
            while "hangs" in faults:
                signal.pause()
            prompt(message, servers)
    while "stubborn" in faults and not servers:
        signal.pause()


main()
