"""Runs an agent by the Python package, and checks what the caller hears. usage: drive.py AGENT KIND URL"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, List

from seer.environment import ExecutionMode, ModelConfig, Sandbox, SandboxConfig, ScopedSandbox
from seer.execution import create_local_session, create_notebook_session
from seer.harness import AgentMessage, run_agent
from seer.workspace import Library, Workspace

TOP = Path(__file__).resolve().parents[2]
agent, kind, url = sys.argv[1:]
options: Dict[str, Any] = dict(provider=agent, model="scripted", base_url=url, budget=5, timeout="20m", env={"PYTHON": "python3"})


def sandbox(mode: Any = None, **more: Any) -> Any:
    return (Sandbox if mode else ScopedSandbox)(SandboxConfig(gpu=None, provider="local", execution_mode=mode, network="none", **more)).start()


async def heard(**more: Any) -> List[AgentMessage]:
    """All messages, or with the kind closed those until the model is asked."""
    messages: List[AgentMessage] = []
    generator = run_agent("Go.", **options, **more)
    async for message in generator:
        messages.append(message)
        if kind == "closed" and message.type == "agent.program":
            task = asyncio.ensure_future(generator.__anext__())
            while '"request"' not in log():
                await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await generator.aclose()
            break
    return messages


def log() -> str:
    path = Path(f"../{agent}-{kind}.jsonl")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def check(messages: List[AgentMessage]) -> None:
    run = Path("runs/latest").resolve()
    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    end = events[-1]["data"]
    assert "real-key" not in json.dumps(events), "the log has the key"
    assert events[-1]["type"] == "run.ended" and end["state"] == ("stopped" if kind == "closed" else "finished"), end
    if kind == "closed":
        return
    assert end["exit_code"] == 0 and end["model_usd"] > 0, end
    if kind in ("library", "mcp"):
        calls = (run / "record" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(calls) == end["calls"] >= 2, "the record of calls is not whole"
    if kind == "mcp":
        assert "[call:%s]" % json.loads(calls[0])["id"] in log(), "the model has not seen the ID of a call"
    kinds = {m.type for m in messages}
    assert {"tool_call", "tool_call_update", "agent.model_request", "agent.turn_ended", "agent.finished", "run.ended"} <= kinds, kinds
    assert [m.data for m in messages if m.type == "run.ended"] == [end]
    assert {e["type"] for e in events} <= kinds | {"agent.update"}, "events that the caller has not heard"


def main() -> None:
    if kind == "notebook":
        Path("helper.py").write_text((TOP / "e2e/agent-runs/helper.py").read_text(encoding="utf-8"), encoding="utf-8")
        Path("data.csv").write_text("a,b\n", encoding="utf-8")
        session: Any = create_notebook_session(
            sandbox(ExecutionMode.NOTEBOOK), Workspace(libraries=["helper.py"], files=["data.csv"]), workspace_dir="work",
        )
        messages = asyncio.run(heard(session=session))
        assert "trained" in log(), "the notebook has not answered"
    elif kind == "mcp":
        scoped = sandbox()
        tools = TOP / "e2e/agents/tools.py"
        servers = scoped.serve(tools, expose_as="mcp", name="tools", options={"wait": "20s"})
        [skill] = {p.parent for p in scoped.serve(tools, expose_as="skill", name="see_red") if p.name == "SKILL.md"}
        messages = asyncio.run(heard(session=create_local_session(workspace_dir="work"), mcp_servers=servers, skills=[skill]))
    else:
        guide = TOP / "examples/scoped-sandbox/testdata/as-documented"
        os.symlink(TOP / "examples/agents/mcp/tiny-lm", "tiny-lm")
        scoped = sandbox(models=[ModelConfig("./tiny-lm")])
        tools = scoped.serve(TOP / "e2e/agent-runs/interface.py", expose_as="library", name="model_tools")
        workspace = Workspace(libraries=[Library.from_file(guide / "helpers.py"), tools], files=[guide / "agent.py"])
        messages = asyncio.run(heard(session=create_local_session(workspace, workspace_dir="work")))
        if kind == "library":
            said = "".join(m.text for m in messages if m.type == "agent_message_chunk")
            assert "The report is in outputs/report.md." in said, said
            assert "- **num_layers**: 2" in Path("work/outputs/report.md").read_text(encoding="utf-8")
    check(messages)
    print(f"{agent}, {kind}: {len(messages)} messages")


main()
