"""The example of the scoped sandbox with a workspace, a session and an agent."""

import asyncio
from pathlib import Path

from common import GPU
from seer.environment import ModelConfig, SandboxConfig, ScopedSandbox
from seer.execution import create_local_session
from seer.harness import run_agent
from seer.workspace import Library, Workspace


async def main():
    example_dir = Path(__file__).parent

    scoped = ScopedSandbox(SandboxConfig(
        gpu=GPU,
        models=[ModelConfig(name="google/gemma-2-9b")],
        python_packages=["torch", "transformers", "accelerate"],
    ))
    scoped.start()

    model_tools = scoped.serve(str(example_dir / "interface.py"), expose_as="library", name="model_tools")

    workspace = Workspace(libraries=[
        Library.from_file(example_dir / "helpers.py"),
        model_tools,
    ])

    create_local_session(workspace=workspace, workspace_dir="workspace", name="scoped-example")

    task = """
    You have access to:
    - `model_tools` — GPU functions (get_model_info, get_embedding)
    - `helpers` — local utilities (format_result)

    Get the model info and an embedding for "the fox", then format the results.
    """

    try:
        async for msg in run_agent(prompt=task, mcp_config={}, provider="claude"):
            print(msg)
    finally:
        scoped.terminate()


if __name__ == "__main__":
    asyncio.run(main())
