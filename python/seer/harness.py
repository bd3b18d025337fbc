"""Agents that work in a session.

    session = create_local_session(workspace=workspace, workspace_dir="workspace")
    async for message in run_agent(task="Find the layer.", session=session):
        print(message)

Without ``session``, an agent works in the one session that was created in the same context.

Agents are commands here: ``run_agent(provider="command", command=["python3", "agent.py"])``. For
any other provider, a variable names the command that runs in its place, such as
``SEER_AGENT_CLAUDE="python3 agent.py"``.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Optional, Union

from ._engine import loop, sessions
from ._engine.sessions import Session
from ._engine.stream import AgentRun
from .errors import ConfigError, Error, Problem, UnsupportedError

__all__ = ["AgentError", "AgentMessage", "run_agent"]

#: MCP servers: their entries by name, or that under ``mcpServers``, or a list of these.
Servers = Union[Mapping[str, Any], Iterable[Mapping[str, Any]], None]

_LAST_WORDS = 20  # lines of standard error that an AgentError has


@dataclass(frozen=True)
class AgentMessage:
    """A message of an agent, or an event of its run.

    ``type`` is ``agent_message_chunk`` for what the agent says, by the name of the Agent Client
    Protocol, and otherwise the type of an event of Seer, such as ``agent.started``,
    ``agent.warning``, ``agent.error_output`` (a line of its standard error) and, at the end,
    ``agent.finished``. More types may come: ignore those that you do not know.
    """

    type: str
    data: dict[str, Any]  #: the fields of the type
    text: str  #: what a person reads
    native: Optional[str] = None  #: the line that the agent's program printed

    def __str__(self) -> str:
        return self.text


class AgentError(Error):
    """An agent failed. ``exit_code`` is that of its program: 128 and its number for a signal."""

    def __init__(self, exit_code: int, said: list[str]):
        self.exit_code = exit_code
        super().__init__(f"the agent ended with exit code {exit_code}" + "".join("\n" + line for line in said), "agent")


async def run_agent(
    prompt: Optional[str] = None, *, task: Optional[str] = None, prompts: Iterable[str] = (), mcp_config: Servers = None,
    mcp_servers: Servers = None, session: Optional[Session] = None, provider: str = "claude", **kwargs: Any,
) -> AsyncIterator[AgentMessage]:
    """Runs an agent, and yields its messages until it ends.

    ``task`` and ``prompt`` describe the task. ``prompts`` are further texts for the agent, such as
    ``scoped.serve(…, expose_as="prompt")``. ``mcp_servers`` and ``mcp_config`` add to the servers
    of the session. Other keywords are fields of ``agent`` in an experiment, such as
    ``network="open"`` or ``memory="8GB"``.

    The agent is confined: it has the session's folder, and reaches the session's sandboxes. When
    you close or cancel the generator, Seer asks the agent to stop. If the agent fails, the
    generator raises an AgentError after the last message.
    """
    __tracebackhide__ = True
    said: list[str] = []
    run: Optional[AgentRun] = None
    try:
        command = _command(provider, kwargs)
        used = session if session is not None else sessions.current()
        run = AgentRun({
            "agent": {**kwargs, "command": command, "prompt": _text([task, prompt, *prompts], used.prompt)},
            "dir": str(used.workspace_dir.absolute()), "env": dict(used.env),
            "mcp_servers": _servers(used.mcp_config, mcp_config, mcp_servers),
        })
        while (event := await _here(run.next())) is not None:
            message = _message(event)
            if message.type == "agent.error_output":
                said = [*said, message.text][-_LAST_WORDS:]
            yield message
            if message.type == "agent.finished" and message.data["exit_code"] != 0:
                raise AgentError(message.data["exit_code"], said)
    except Error as e:
        raise e.with_traceback(None) from e.__cause__
    finally:
        if run is not None:
            await _here(run.stop())


def _here(work: Any) -> Any:
    return asyncio.wrap_future(loop.submit(work))


def _command(provider: str, given: dict[str, Any]) -> list[str]:
    if provider == "command":
        command = given.pop("command", None)
        if not command or isinstance(command, str):
            raise ConfigError("", [Problem("run_agent.command", "must be a program and its arguments", 'such as ["python3", "agent.py"]')])
        return [str(word) for word in command]
    if "command" in given:
        raise ConfigError("", [Problem("run_agent.command", f"is not for the agent {provider!r}", 'use provider="command"')])
    variable = "SEER_AGENT_" + "".join(c if c.isalnum() else "_" for c in provider).upper()
    words = shlex.split(os.environ.get(variable, ""))
    if not words:
        raise UnsupportedError(
            f"the agent {provider!r} cannot be run: this version runs only commands; set {variable} to a command that"
            ' runs in its place, or use provider="command" with command=["PROGRAM", …]', "unsupported",
        )
    return words


def _text(given: list[Optional[str]], session: str) -> str:
    parts = [part.strip() for part in given if part and part.strip()]
    if not parts:
        raise ConfigError("", [Problem("run_agent.prompt", "is missing", "say what the agent is to do in prompt or task")])
    return "\n\n".join([*parts, *([session.strip()] if session.strip() else [])])


def _servers(*given: Servers) -> dict[str, dict[str, Any]]:
    """All entries by their names. Two different ones of a name are an error."""
    found: dict[str, dict[str, Any]] = {}
    problems = []
    for group in given:
        for config in [group] if isinstance(group, Mapping) else group or ():
            entries = config.get("mcpServers", config)
            for name, entry in entries.items():
                if not isinstance(entry, Mapping):
                    problems.append(Problem(f"mcp_servers.{name}", "is not an entry of mcpServers", 'such as {"command": "program"}'))
                elif found.setdefault(name, dict(entry)) != entry:
                    problems.append(Problem(f"mcp_servers.{name}", "is the name of two different servers", "give one another name"))
    if problems:
        raise ConfigError("", problems)
    return found


def _message(event: dict[str, Any]) -> AgentMessage:
    kind, data = event["type"], event["data"]
    if kind == "agent.output":
        line = data["line"]
        return AgentMessage("agent_message_chunk", {"content": {"type": "text", "text": line}}, line, line)
    return AgentMessage(kind, data, event["text"], data["line"] if kind == "agent.error_output" else None)
