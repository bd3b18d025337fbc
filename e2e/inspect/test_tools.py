"""Exposed functions as tools: a model of the test calls them in an eval, and hears what they return."""

import json
from pathlib import Path

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import resolve_sample_attachments
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate, use_tools

from seer.environment import SandboxConfig, ScopedSandbox
from seer.inspect import tools


@pytest.fixture(scope="module")
def service():
    with ScopedSandbox(SandboxConfig(gpu=None, provider="local", execution_mode=None, timeout=600, python_packages=["pillow"])) as sandbox:
        yield sandbox.serve(Path(__file__).parent / "interface.py")


def heard(service, calls):
    """Has a model make calls, one after the other, and returns the messages with their results."""
    left = list(calls)

    def answer(messages, given, tool_choice, config):
        if not left:
            return ModelOutput.from_content("mockllm/model", "done")
        name, arguments = left.pop(0)
        if callable(arguments):
            arguments = arguments(results(messages))
        return ModelOutput.for_tool_call("mockllm/model", name, arguments)

    async def estimate(text):  # Inspect's own would fetch a vocabulary from the internet
        return 1

    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    model.api.count_text_tokens = estimate
    task = Task(dataset=[Sample(input="Go.")], solver=[use_tools(tools(service)), generate()])
    log = eval(task, model=model, display="none", log_dir="logs")[0]
    assert log.status == "success", log.error.message
    return results(resolve_sample_attachments(log.samples[0]).messages)


def results(messages):
    return [m for m in messages if m.role == "tool"]


def test_results(service, capfd):
    found = heard(service, [
        ("scale", {"values": [[1, 2], [3, 4]], "by": 0.5}),
        ("total", {"values": [1, 2]}),
        ("width", {"span": {"start": 2, "end": 9}}),
        ("join", {"first": "a", "more": ["b", "c"], "sep": "+"}),
        ("join", {"first": "a", "options": {"x": "z"}}),
        ("count", {"n": 4}),
    ])
    assert [m.error for m in found] == [None] * 6
    assert [json.loads(m.text) for m in found[:3]] == [[[0.5, 1], [1.5, 2]], {"sum": 3, "nan": "nan", "raw": "YWI=", "n": 2}, 7]
    assert [m.text for m in found[3:]] == ["a+b+c", "a-z", "[0, 1, 2, 3]"]
    assert "printed in the sandbox" not in capfd.readouterr().out


def test_large_results_stay(service):
    found = heard(service, [
        ("zeros", {"n": 1 << 20}),
        ("total", lambda found: {"values": {"handle": found[0].text.split()[1].rstrip(":")}}),
    ])
    assert "[1048576]" in found[0].text and "stayed in the sandbox" in found[0].text
    assert json.loads(found[1].text)["n"] == 1 << 20


def test_errors(service):
    found = heard(service, [
        ("fail", {"message": "no such layer"}),
        ("fail", {}),
        ("width", {"span": {"start": "x"}}),
        ("die", {}),
        ("join", {"first": "still there"}),
    ])
    assert "ValueError: no such layer" in found[0].error.message and "interface.py" in found[0].error.message
    assert "message" in found[1].error.message
    assert found[2].error is not None and found[3].error is not None
    assert (found[4].error, found[4].text) == (None, "still there")


def test_pictures(service):
    found = heard(service, [("picture", {})])
    assert found[0].error is None, found[0].error
    text, image = found[0].content
    assert json.loads(text.text) == {"shown": "[image 1]"} and image.image.startswith("data:image/png;base64,")


def test_description(service):
    from inspect_ai.tool import ToolDef

    definitions = {d.name: d for d in map(ToolDef, tools(service))}
    assert list(definitions) == ["scale", "zeros", "total", "width", "join", "count", "fail", "picture", "die"]
    scale = definitions["scale"]
    assert scale.description.startswith("Scales an array.")
    assert scale.parameters.properties["values"].description or scale.parameters.properties["values"].anyOf
    assert scale.parameters.required == ["values"]
    assert definitions["width"].parameters.properties["span"].properties["inner"].anyOf is not None
