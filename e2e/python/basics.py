"""What every program does: a sandbox, served functions, a session and an agent in it."""

import asyncio
import platform
import tempfile
from pathlib import Path

from seer import ConfigError
from seer.environment import Sandbox, SandboxConfig, ScopedSandbox
from seer.execution import create_cli_session, create_local_session
from seer.harness import run_agent
from seer.workspace import Workspace

INTERFACE = """
@expose
def double(x: int) -> int:
    return 2 * x
"""


def config(**more):
    return SandboxConfig(**{"gpu": None, "provider": "local", "execution_mode": None, "timeout": 600, **more})


async def said(session, code):
    command = ["python3", "-c", code]
    return [m.native async for m in run_agent(task="Go.", session=session, provider="command", command=command) if m.native]


def main(folder):
    file = folder / "tools.py"
    file.write_text(INTERFACE)
    with ScopedSandbox(config()) as scoped:
        library = scoped.serve(file)
        assert library.double(21) == 42
        with create_local_session(Workspace([library]), workspace_dir=folder / "local") as session:
            assert asyncio.run(said(session, "import tools; print(tools.double(4))")) == ["8"]
    with Sandbox(config(execution_mode="cli")) as sandbox:
        sandbox.write_file("/workspace/a", bytes(2 << 20))
        assert len(sandbox.read_file("/workspace/a")) == 2 << 20
        assert sandbox.exec(["echo", "on"], timeout=60).stdout == "on\n"
        with create_cli_session(sandbox, workspace_dir=folder / "cli") as session:
            assert session.mcp_config
        assert Sandbox.from_id(sandbox.sandbox_id).exec_python("print(1)").stdout == "1\n"
    try:
        Sandbox(config(cpu=object(), timeout="soon")).start()
    except ConfigError as e:
        assert len(e.problems) == 2, e
    print("Python", platform.python_version())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
