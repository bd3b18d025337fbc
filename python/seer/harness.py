"""Agents that work in a session.

    session = create_local_session(workspace=workspace, workspace_dir="workspace")
    async for message in run_agent(task="Find the layer.", session=session, provider="claude"):
        print(message)

Without ``session``, the agent works in the one open session that this task, or the code that
started it, has created. If there is none, or several, run_agent raises an Error.

``provider`` is ``claude`` (Claude Code), ``codex``, ``gemini`` (Gemini CLI), ``opencode``, a profile
of your own, ``acp`` (any program that speaks the Agent Client Protocol) or ``command`` (any
program). A variable may name the program of a provider and its first arguments, such as
``SEER_AGENT_CLAUDE="/opt/claude/bin/claude"``.
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
from ._fields import PathLike
from .errors import ConfigError, Error, Problem

__all__ = ["AgentError", "AgentMessage", "run_agent"]

#: MCP servers: their entries by name, or that under ``mcpServers``, or a list of these.
Servers = Union[Mapping[str, Any], Iterable[Mapping[str, Any]], None]

_LAST_WORDS = 20  # lines of standard error that an AgentError has


@dataclass(frozen=True)
class AgentMessage:
    """A message of an agent, or an event of its run.

    ``type`` is one of the Agent Client Protocol for what the agent says and does:
    ``agent_message_chunk``, ``agent_thought_chunk``, ``tool_call``, ``tool_call_update``, ``plan``
    and ``usage_update``. ``data`` is then the protocol's ``session/update``. What a program prints
    beside these has the type ``unknown``. Everything else has the type of an event of Seer, such as
    ``run.started`` (``folder``), ``agent.started``, ``agent.model_request`` (tokens and dollars),
    ``agent.error_output`` (a line of its standard error), ``agent.turn_ended``, ``agent.finished``
    and ``run.ended``. More types may come: ignore those that you do not know.
    """

    type: str
    data: dict[str, Any]  #: the fields of the type
    text: str  #: what a person reads
    native: Optional[str] = None  #: the line that the agent's program printed

    def __str__(self) -> str:
        return self.text


class AgentError(Error):
    """An agent failed.

    ``exit_code`` is the program's exit code, or 128 plus the number of the signal that ended it.
    ``reason`` says how its last turn ended, such as ``"error"`` or ``"max_turn_requests"``; it is
    empty for ``provider="command"``.
    """

    def __init__(self, exit_code: int, said: list[str], reason: str = ""):
        self.exit_code, self.reason = exit_code, reason
        super().__init__(f"the agent ended with exit code {exit_code}" + "".join("\n" + line for line in said), "agent")


async def run_agent(
    prompt: Optional[str] = None, *, task: Optional[str] = None, prompts: Iterable[str] = (), mcp_config: Servers = None,
    mcp_servers: Servers = None, session: Optional[Session] = None, provider: str = "claude", model: Optional[str] = None,
    max_turns: Optional[int] = None, timeout: Union[float, str, None] = None, budget: Optional[float] = None,
    runs_dir: Optional[PathLike] = "runs", **kwargs: Any,
) -> AsyncIterator[AgentMessage]:
    """Runs an agent, and yields its messages until it ends.

    ``task`` and ``prompt`` describe the task. ``prompts`` are further texts for the agent, such as
    ``scoped.serve(…, expose_as="prompt")``. ``mcp_servers`` and ``mcp_config`` add to the servers of
    the session.

    ``model`` is the language model (default: the program's own choice). Three limits are off by
    default: ``max_turns`` is a number of answers of the language model, ``timeout`` is in seconds
    or a text such as ``"30m"``, and ``budget`` is the cost of the language model, in US dollars.
    Other keywords are fields of ``agent`` in an experiment: ``command``, ``args``, ``base_url``,
    ``secrets``, ``tools``, ``skills``, ``env``, ``network``, ``memory`` and so on.

    The key of the language model, such as ``ANTHROPIC_API_KEY``, comes from the environment or from
    ``.env`` in the working folder. The agent does not get it: a proxy of Seer holds it and measures
    the cost. A missing program or key raises a ConfigError.

    The agent is confined: it sees the session's folder and reaches the session's sandboxes. Seer
    writes the messages, events and costs of the run into a folder in ``runs_dir`` (default: ``runs``
    in the working folder). With ``runs_dir=None`` it writes none.

    When you close or cancel the generator, Seer asks the agent to stop. If the agent fails, the
    generator raises an AgentError after the last message.
    """
    __tracebackhide__ = True
    said: list[str] = []
    run: Optional[AgentRun] = None
    try:
        used = session if session is not None else sessions.current()
        further = [*prompts, used.prompt]
        agent = {
            **kwargs, "provider": provider, "task": task, "prompt": prompt, "prompts": [p for p in further if p], "model": model,
            "max_turns": max_turns, "timeout": timeout, "budget": budget, "command": _command(provider, kwargs.get("command")),
        }
        _told(task, prompt, *further[:-1], kwargs.get("prompt_file"))
        run = AgentRun({
            "agent": {name: _plain(value) for name, value in agent.items() if value is not None},
            "name": used.name, "dir": str(used.workspace_dir.absolute()), "base": os.getcwd(), "env": dict(used.env),
            "runs": os.path.abspath(runs_dir) if runs_dir is not None else "",
            "mcp_servers": _servers(used.mcp_config, mcp_config, mcp_servers),
        })
        while (event := await _here(run.next())) is not None:
            message = _message(event)
            if message.type == "agent.error_output":
                said = [*said, message.text][-_LAST_WORDS:]
            elif message.type == "agent.turn_ended" and message.data.get("error"):
                said = [*said, message.data["error"]]
            yield message
        if run.result is not None and run.result["exit_code"] != 0:
            raise AgentError(run.result["exit_code"], said, run.result.get("reason", ""))
    except Error as e:
        raise e.with_traceback(None) from e.__cause__
    finally:
        if run is not None:
            await _here(run.stop())


def _here(work: Any) -> Any:
    return asyncio.wrap_future(loop.submit(work))


def _command(provider: str, given: Any) -> Optional[list[str]]:
    """The program and its arguments, or None where the engine looks for the program."""
    if given is None and provider != "command":
        variable = "SEER_AGENT_" + "".join(c if c.isalnum() else "_" for c in provider).upper()
        try:
            return shlex.split(os.environ.get(variable, "")) or None
        except ValueError as e:
            raise ConfigError("", [Problem(variable, f"is not a program and its arguments: {e}", "quote them as in a shell")]) from e
    if not given or isinstance(given, str):
        raise ConfigError("", [Problem("run_agent.command", "must be a program and its arguments", 'such as ["python3", "agent.py"]')])
    return [os.fspath(word) for word in given]


def _told(*given: Any) -> None:
    """Refuses an agent that is told nothing but what its session is."""
    if not any(os.fspath(part).strip() for part in given if part):
        raise ConfigError("", [Problem("run_agent.prompt", "is missing", "say what the agent is to do in prompt or task")])


def _plain(value: Any) -> Any:
    """A value as JSON has it: paths are texts, and all sequences lists."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


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
    if kind == "agent.update":
        update = data["update"]
        return AgentMessage(update.get("sessionUpdate", "unknown"), update, event["text"], data.get("native"))
    return AgentMessage(kind, data, event["text"], data["line"] if kind == "agent.error_output" else None)
