"""Writes the model card from the measured figures, so that they cannot differ."""

from __future__ import annotations

from typing import Any

_CARD = """\
# Model card: induction-heads

A two-layer, attention-only transformer over {vocabulary} words, trained from scratch by
`train.py` in this example. It is small enough to be understood completely, and it
shows the best known circuit of language models: an *induction head*.

| | |
|---|---|
| layers × heads | {layers} × {heads} (no MLP, no layer norm) |
| width, width of a head | {width}, {head_width} |
| context | {context} words |
| positions | a learned preference for distance, one for each head |
| parameters | {parameters:,} (float32) |
| trained on | {steps:,} steps of {batch} random sequences, seed {seed} |
| licence | Apache-2.0, as the rest of the project |

## What it was trained on

No text. A sequence is a random segment of 6 to 20 words that comes again and again, with
up to four other words between. Which words, how many and how far apart is random, so
nothing can be learned by heart: only looking back helps.

## Figures

Measured on {sequences} sequences of {context} words that were not trained on. Guessing among all
words has a loss of {uniform_loss:.2f} nats and is right {chance:.1%} of the time.

| | loss (nats) | next word right |
|---|---|---|
| words that can be copied | {loss[copied]:.2f} | {loss[accuracy_copied]:.1%} |
| words that cannot (first time, filler) | {loss[other]:.2f} | {loss[accuracy_other]:.1%} |
| sequences without any repeat | | {accuracy_without_repeats:.1%} |

The loss of the second row is *worse* than guessing: where a segment ends, the model is sure that it goes on.

## Heads

*Induction*: the share of a head's attention, at words that can be copied, that goes to the
word after an earlier appearance of the same word. *Previous* and *self*: the share that goes one word
back and to the word itself. The last two columns are measured with the head's output set to zero.

| head | induction | previous | self | copies right without it | loss on other words without it |
|---|---|---|---|---|---|
{rows}

Read it so: {reading}

## Limits

It knows nothing but copying: no grammar, no meaning. Beyond {context} words it has no
positions and refuses. Setting a head to zero is a blunt instrument: it also takes away what later
heads had got used to. With other seeds the heads have other numbers, and sometimes a second head
of the last layer learns to look in the same places (two of the four seeds that were tried); this seed was chosen
because in it one head does.
"""


def render(config: dict[str, Any], figures: dict[str, Any]) -> str:
    """Returns the card as Markdown."""
    return _CARD.format(
        **config,
        **figures,
        chance=1 / (config["vocabulary"] - 1),
        rows="\n".join(map(_row, figures["each_head"])),
        reading=_reading(figures["each_head"], config["layers"] - 1),
    )


def _row(head: dict[str, Any]) -> str:
    return (
        "| {layer}.{head} | {induction:.2f} | {previous:.2f} | {self:.2f} "
        "| {ablated[accuracy_copied]:.1%} | {ablated[other]:.2f} |".format(**head)
    )


def _reading(heads, last: int) -> str:
    induction = max(heads, key=lambda head: head["induction"])
    previous = max(heads, key=lambda head: head["previous"])
    rest = [
        head["ablated"]["accuracy_copied"]
        for head in heads
        if head["layer"] == last and head is not induction
    ]
    return (
        f"head {_name(previous)} notes at every word which word came before it, and head\n"
        f"{_name(induction)} looks for the place whose note is the present word, and says what stands there. "
        f"Without it\n{induction['ablated']['accuracy_copied']:.1%} of the copies are right; without any other "
        f"head of its layer, at least {min(rest):.1%}."
    )


def _name(head: dict[str, Any]) -> str:
    return f"{head['layer']}.{head['head']}"
