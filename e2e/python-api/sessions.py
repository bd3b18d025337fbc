"""Sandboxes that are made first, and the sessions in which an agent works, made later."""

import asyncio
from pathlib import Path

from common import GPU
from seer.environment import ExecutionMode, ModelConfig, Sandbox, SandboxConfig
from seer.execution import create_cli_session, create_notebook_session
from seer.harness import run_agent
from seer.workspace import Library, Skill, Workspace

Path("skills/look").mkdir(parents=True, exist_ok=True)
Path("skills/look/SKILL.md").write_text("---\nname: look\ndescription: How to look at a model.\n---\nPrint it.\n")
Path("notes.txt").write_text("notes\n")
workspace = Workspace(
    libraries=[Library.from_file("helpers.py"), Library.from_code("extra", "def twice(x):\n    return 2 * x\n")],
    skills=[Skill("skills/look")],
    files=["notes.txt"],
)


async def heard(session):
    return [str(m) async for m in run_agent(session=session, task="Look at the model.", provider="claude")]


sandbox = Sandbox(SandboxConfig(gpu=GPU, execution_mode=ExecutionMode.NOTEBOOK, models=[ModelConfig(name="google/gemma-2-9b")])).start()
session = create_notebook_session(sandbox, workspace)
said = "\n".join(asyncio.run(heard(session)))
assert "Look at the model." in said and "servers: " in said, said
assert session.jupyter_url.startswith("http")
sandbox.terminate()
assert session.closed

with Sandbox(SandboxConfig(gpu=GPU, execution_mode=ExecutionMode.CLI)) as sandbox:
    session = create_cli_session(sandbox, workspace)
    said = "\n".join(asyncio.run(heard(None)))  # the session that is open
    assert "Look at the model." in said, said
    assert sandbox.exec_python("import extra, helpers; print(extra.twice(21))", check=True).stdout == "42\n"
print("sessions")
