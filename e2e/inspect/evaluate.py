"""An eval of 20 samples at once, each in a sandbox of its own; a model of the test answers."""

import anyio
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import TaskState, generate, solver, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import sandbox

SAMPLES = 20
HANGS = 600  # seconds


@solver
def together():
    """Each sample waits in its sandbox until all have begun: with fewer at once, none would go on."""
    begun, all_begun = [], anyio.Event()

    async def solve(state: TaskState, generate):
        machine = await sandbox().exec(["sh", "-c", "echo $SEER_MACHINE"])
        begun.append(machine.stdout)
        if len(begun) == SAMPLES:
            all_begun.set()
        with anyio.fail_after(HANGS):
            await all_begun.wait()
        assert len(set(begun)) == SAMPLES, begun
        return state

    return solve


@scorer(metrics=[accuracy()])
def written():
    async def score(state: TaskState, target: Target) -> Score:
        content = await sandbox().read_file("answer")
        return Score(value="C" if content == f"{target.text}\n" else "I", answer=content)

    return score


def model():
    def answer(messages, tools, tool_choice, config):
        if messages[-1].role == "tool":
            return ModelOutput.from_content("mockllm/model", "done")
        number = messages[-1].text
        return ModelOutput.for_tool_call("mockllm/model", "bash", {"command": f"echo {number} > answer"})

    async def estimate(text):  # Inspect's own would fetch a vocabulary from the internet
        return len(text) // 4

    made = get_model("mockllm/model", custom_outputs=answer)
    made.api.count_text_tokens = estimate
    return made


def main():
    task = Task(
        dataset=[Sample(input=str(i), target=str(i)) for i in range(SAMPLES)],
        solver=[together(), use_tools(bash(timeout=60)), generate()], scorer=written(), sandbox=("seer", "seer.yaml"),
    )
    logs = eval(task, model=model(), max_samples=SAMPLES, max_sandboxes=SAMPLES, display="none", log_dir="logs")
    assert logs[0].status == "success", logs[0].error.message
    assert logs[0].results.scores[0].metrics["accuracy"].value == 1, logs[0].results
    print("ok")


if __name__ == "__main__":
    main()
