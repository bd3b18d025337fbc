"""Reads the logs that internal/testruns/write has made, as users of Inspect AI do.

usage: read_logs.py FOLDER SCHEMA
"""

import json
import sys
import zipfile
from pathlib import Path

from inspect_ai.event import InfoEvent, ModelEvent, ToolEvent
from inspect_ai.log import (
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
)
from jsonschema import Draft202012Validator

folder, schema = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())


def valid(name: str, value: object) -> None:
    """Fails unless value is what the schema says of the type name."""
    whole = {"$ref": f"#/components/schemas/{name}", "components": schema["components"]}
    for error in Draft202012Validator(whole).iter_errors(value):
        raise AssertionError(f"{name} at {list(error.absolute_path)[:6]}: {error.message[:300]}")


def infos(events: list, source: str) -> list:
    """The data of the info events of a source."""
    return [e.data for e in events if isinstance(e, InfoEvent) and e.source == f"seer {source}"]


logs = {Path(log.name).stem: log.name for log in list_eval_logs(str(folder))}
assert set(logs) == {"sample", "long", "hostile", "empty", "interrupted", "stopped", "failed"}, logs
states = {name: read_eval_log(log, header_only=True).status for name, log in logs.items()}
assert states == {
    "sample": "success",
    "long": "success",
    "hostile": "error",
    "empty": "success",
    "interrupted": "error",
    "stopped": "cancelled",
    "failed": "error",
}, states

for name in logs:
    with zipfile.ZipFile(folder / f"{name}.eval") as archive:
        assert archive.testzip() is None
        header = json.loads(archive.read("header.json"))
        valid("EvalLog", header)
        valid("EvalSpec", json.loads(archive.read("_journal/start.json"))["eval"])
        valid("EvalSampleSummary", json.loads(archive.read("summaries.json"))[0])
        if name != "long":  # its schema takes minutes
            valid("EvalSample", json.loads(archive.read("samples/run_epoch_1.json")))
    (summary,) = read_eval_log_sample_summaries(logs[name])
    sample = read_eval_log_sample(logs[name], id="run", epoch=1)
    assert summary.uuid == sample.uuid == "run-0123456789abcdef"
    assert [e.timestamp for e in sample.events] == sorted(e.timestamp for e in sample.events)

log = read_eval_log(logs["sample"])
sample = log.samples[0]
assert log.eval.task == "hidden-behaviour-audit" and log.eval.model == "model-large" and log.eval.packages == {"seer": "0.0.0-test"}
assert log.results is not None and log.results.scores == []
assert [m.role for m in sample.messages][:4] == ["user", "assistant", "assistant", "tool"] or [m.role for m in sample.messages][:3] == ["user", "assistant", "tool"]
assert sample.input.startswith("Find out whether")
assert sample.output.completion.startswith("## Findings")
assert any(c.type == "reasoning" for m in sample.messages if isinstance(m.content, list) for c in m.content)
called = {c.id: m for m in sample.messages if m.role == "assistant" for c in m.tool_calls or []}
answered = {m.tool_call_id: m.text for m in sample.messages if m.role == "tool"}
assert set(called) == set(answered) == {"t1", "t2", "t3"} and answered["t2"] == "0.1875"

usage = log.stats.model_usage["model-large"]
assert (usage.input_tokens, usage.output_tokens, usage.input_tokens_cache_read) == (8400, 910, 3600)
assert abs(usage.total_cost - 0.0626) < 1e-9 and abs(log.stats.model_usage["model-small"].total_cost - 0.0008) < 1e-9
requests = infos(sample.events, "agent.model_request")
assert [r["cost_usd"] for r in requests] == [0.0214, 0.0187, 0.0008, 0.0225] and requests[0]["input_tokens"] == 2100
assert infos(sample.events, "run.sandbox")[0]["gpu"] == {"type": "H100", "count": 1}
assert infos(sample.events, "run.ended")[0]["sandbox_usd"] == 0.41

tools = {e.id: e for e in sample.events if isinstance(e, ToolEvent)}
assert set(tools) == {"t1", "t2", "t3", "c1", "c2", "c3", "c4"}
assert tools["c2"].function == "lab.score" and tools["c2"].arguments == {"layer": 12, "seed": 7} and tools["c2"].result == "0.1875"
assert tools["c1"].arguments == {"args": [0], "steer": False}
assert tools["c3"].error.message == "IndexError: layer 99 is out of range" and tools["c3"].failed
assert tools["c2"].metadata["seer"]["models"][0]["revision"].startswith("4f1c0de2")
assert sum(isinstance(e, ModelEvent) for e in sample.events) == sum(m.role == "assistant" for m in sample.messages)

assert "its log has no end" in read_eval_log(logs["interrupted"]).error.message
assert len(read_eval_log(logs["long"]).samples[0].messages) == 10_000
print("Inspect reads the logs of runs")
