"""A scripted agent: it stands where an AI agent would, and has the same tools.

It works in a notebook of the sandbox through MCP. This program itself runs in a folder
of its own, from which it sees neither the sandbox's files nor yours.
"""
import json
import os
import subprocess


class Server:
    """An MCP server of $SEER_MCP_CONFIG, over its standard input and output."""

    def __init__(self, name: str) -> None:
        with open(os.environ["SEER_MCP_CONFIG"], encoding="utf-8") as f:
            config = json.load(f)["mcpServers"][name]
        self.process = subprocess.Popen(
            [config["command"], *config["args"]], env={**os.environ, **config.get("env", {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.sent = 0
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "agent", "version": "1"})
        self.send(method="notifications/initialized")

    def send(self, **message: object) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: object) -> dict:
        self.sent += 1
        self.send(id=self.sent, method=method, params=params)
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.sent and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
        raise RuntimeError("the MCP server has ended")

    def tool(self, name: str, **arguments: object) -> dict:
        answer = self.ask("tools/call", name=name, arguments=arguments)
        if answer.get("isError"):
            raise RuntimeError(answer["content"][0]["text"])
        return answer["structuredContent"]


notebook = Server("notebook")
session = notebook.tool("start_new_session", experiment_name="first words")
notebook.tool("add_markdown", content="# Which words follow *the*?")
wrong = notebook.tool("execute_code", code="import helpers\nhelpers.followers(text)")
print("a cell with a mistake:", wrong["outputs"][0]["ename"])

# A cell that was wrong is edited, not added again.
right = notebook.tool("edit_cell", code='import helpers\nfor word, p in helpers.followers(text, "the").items():\n    print("the", word, format(p, ".2f"))')
print(right["outputs"][0]["text"], end="")
print(notebook.tool("read_notebook")["total"], "cells, saved as", os.path.basename(session["notebook_path"]))
