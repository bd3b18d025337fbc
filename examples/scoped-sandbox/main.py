"""The same as seer.yaml as a program of Python, with Claude Code as the agent.

    cd examples/scoped-sandbox
    export SEER_PYTHON=$(./prepare) ANTHROPIC_API_KEY=...
    python3 main.py
"""

import asyncio
from pathlib import Path

from seer.environment import ModelConfig, SandboxConfig, ScopedSandbox
from seer.execution import create_local_session
from seer.harness import run_agent
from seer.workspace import Library, Workspace


async def main():
    example_dir = Path(__file__).parent

    scoped = ScopedSandbox(
        SandboxConfig(
            gpu=None,  # "A100" rents one
            provider="local",
            models=[ModelConfig(name="./model")],  # made by ./prepare
            python_packages=["torch", "transformers", "accelerate"],
            env={"HF_HUB_OFFLINE": "1"},  # everything is here: do not even ask
            network="none",
        )
    )
    scoped.start()

    model_tools = scoped.serve(
        str(example_dir / "interface.py"), expose_as="library", name="model_tools"
    )

    workspace = Workspace(
        libraries=[
            Library.from_file(example_dir / "helpers.py"),  # runs beside the agent
            model_tools,  # runs in the sandbox
        ]
    )

    create_local_session(
        workspace=workspace,
        workspace_dir=str(example_dir / "workspace"),
        name="scoped-example",
    )

    task = """
    You have access to:
    - `model_tools`: functions of the model (get_model_info, get_embedding)
    - `helpers`: local utilities (format_result, similarity)

    Get the model info and an embedding for "hello world", then format the results.
    Write them to outputs/report.md.
    """

    try:
        async for message in run_agent(prompt=task, mcp_config={}, provider="claude"):
            if message.type in ("agent_message_chunk", "tool_call", "run.started"):
                print(message)
    finally:
        scoped.terminate()


if __name__ == "__main__":
    asyncio.run(main())
