"""A program that uses the Python package, as a type checker sees it."""
from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from seer.config.parser import load_config
from seer.environment import ExecutionMode, ModelConfig, Sandbox, SandboxConfig, ScopedSandbox, ServedLibrary, setup_environment
from seer.execution import create_local_session
from seer.harness import AgentError, AgentMessage, run_agent
from seer.workspace import Library, Workspace

config = SandboxConfig(gpu=None, execution_mode=ExecutionMode.CLI, models=[ModelConfig(name="google/gemma-2-9b"), "./model"])
with Sandbox(config) as sandbox:
    said: str = sandbox.exec("echo", check=True).stdout
    code: int = sandbox.exec_python("print(1)").exit_code
    copies: list[Sandbox] = sandbox.fork(2)
    again: Sandbox = Sandbox.from_snapshot(sandbox.snapshot("after setup"), config)
    content: bytes = sandbox.read_file("/workspace/a")

scoped: ScopedSandbox = ScopedSandbox(config).start()
library: ServedLibrary = scoped.serve("interface.py")
same: ServedLibrary = scoped.serve(Path("interface.py"), expose_as="library", name="model_tools")
functions: list[str] = library.functions
servers: dict[str, Any] = scoped.serve("interface.py", expose_as="mcp")
prompt: str = scoped.serve("interface.py", "prompt")


def chosen(mode: str) -> object:
    return scoped.serve("interface.py", expose_as=mode)


async def main() -> None:
    soon: ServedLibrary = await scoped.serve.aio("interface.py")
    text: str = await scoped.serve.aio("interface.py", expose_as="prompt")
    session = create_local_session(Workspace(libraries=[soon, Library.from_file("helpers.py")]), workspace_dir="work")
    async for message in run_agent(prompt=text, mcp_servers=[servers], session=session):
        print(message)
    spent = 0.0
    try:
        async for heard in run_agent("Go.", provider="claude", model="m", budget=5, timeout="30m", runs_dir=Path("runs"), tools=["Read"]):
            one: AgentMessage = heard
            spent = one.data["total_usd"] if one.type == "agent.model_request" else spent
    except AgentError as e:
        print(e.exit_code + 1, e.reason.upper(), spent)


asyncio.run(main())
url = setup_environment(load_config("config.yaml")).jupyter_url
if url is not None:
    print(url.upper())
