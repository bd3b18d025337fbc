"""Puts the servers of an mcp.json into an agent's own configuration, in its home.

usage: configure.py AGENT MCP_JSON MODEL_URL"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict

Json = Dict[str, Any]


def codex(servers: Json, url: str) -> None:
    text = json.dumps  # strings and lists of strings are the same in TOML
    lines = ['model = "scripted"', 'model_provider = "scripted"', "[model_providers.scripted]", 'name = "scripted"',
             f"base_url = {text(url + '/v1')}", 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
    for name, server in servers.items():
        lines += [f"[mcp_servers.{name}]", f"command = {text(server['command'])}", f"args = {text(server['args'])}",
                  'default_tools_approval_mode = "approve"', "startup_timeout_sec = 600", "tool_timeout_sec = 600",
                  "required = true",  # else it begins after a second without the tools
                  f"[mcp_servers.{name}.env]"]
        lines += [f"{key} = {text(value)}" for key, value in server.get("env", {}).items()]
    write(".codex/config.toml", "\n".join(lines))


def gemini(servers: Json, url: str) -> None:
    config = {"mcpServers": {name: {**server, "trust": True} for name, server in servers.items()},
              "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
              "general": {"disableAutoUpdate": True}}
    write(".gemini/settings.json", json.dumps(config))


def opencode(servers: Json, url: str) -> None:
    def local(server: Json) -> Json:
        return {"type": "local", "enabled": True, "timeout": 600000, "command": [server["command"], *server["args"]], "environment": server.get("env", {})}

    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": url + "/v1", "apiKey": "none"},
                "models": {"m": {"name": "m"}}}
    config = {"model": "scripted/m", "small_model": "scripted/m", "autoupdate": False, "share": "disabled", "permission": "allow",
              "provider": {"scripted": provider}, "mcp": {name: local(server) for name, server in servers.items()}}
    write("opencode.json", json.dumps(config))


def write(name: str, text: str) -> None:
    path = Path.home() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    agent, config, url = sys.argv[1:]
    servers: Json = json.loads(Path(config).read_text(encoding="utf-8"))["mcpServers"]
    make = {"codex": codex, "gemini": gemini, "opencode": opencode}.get(agent)  # claude reads it as it is
    if make is not None:
        make(servers, url)


if __name__ == "__main__":
    main()
