"""Functions for the trial of an agent. The values in braces are made up for each run."""

import time


@expose  # noqa: F821
def trial_answer(word: str) -> str:
    """Answers with a word that only this function knows."""
    return word + "-{SECRET}"


@expose  # noqa: F821
def trial_numbers(count: int) -> list:
    """So many numbers that the agent gets a handle."""
    return [{FIRST} + i for i in range(count)]  # noqa: F821


@expose  # noqa: F821
def trial_total(numbers: list) -> int:
    """The sum of numbers."""
    return sum(numbers)


@expose  # noqa: F821
def trial_slow() -> str:
    """Takes longer than the MCP server waits."""
    time.sleep(3)
    return "slow-{SECRET}"
