"""A scripted agent: finds the head that copies, and proves it by taking it out.

All that it has is `model_tools`, the functions of interface.py as a library, and
`helpers`, a file beside it. It cannot see the weights, the interface's code or the
machine that the model is on.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple, Tuple

import helpers
import model_tools
import numpy as np

PASSAGES = 20  # random passages, each read twice in a row
WORDS = 16  # in a passage
OUTPUTS = Path("outputs")

Head = Tuple[int, int]


class Copying(NamedTuple):
    """How many of the next words are foreseen, from 0 to 1."""

    first: float  # while a passage is read for the first time
    again: float  # while it is read again


class Scores(NamedTuple):
    """Where a head looks during the second reading, as shares of its attention."""

    induction: float  # at the word after this one's last appearance
    previous: float  # at the word just before
    itself: float  # at the word itself


def main() -> None:
    info = model_tools.get_model_info()
    heads = [
        (layer, head)
        for layer in range(info["layers"])
        for head in range(info["heads"])
    ]
    print(
        f"The model: {info['layers']} layers of {info['heads']} heads, "
        f"{info['parameters']:,} parameters, {len(info['vocabulary']) - 1} words."
    )
    passages = draw_passages(info["vocabulary"][1:])

    print(
        f"\n1. Does it copy? I read {PASSAGES} passages of random words to it, each twice."
    )
    whole = measure_copying(passages)
    show_example(passages[0])
    print(
        f"   First reading: {whole.first:.0%} of the words foreseen. Second: {whole.again:.0%}."
    )

    print("\n2. Which head looks at what followed last time?")
    scores = measure_attention(passages, heads)
    found = max(heads, key=lambda head: scores[head].induction)
    for head in heads:
        mark = "  <- this one" if head == found else ""
        share = scores[head].induction
        print(f"   head {name(head)}  {helpers.bar(share)}  {share:4.0%}{mark}")

    print("\n3. Is it the cause? I switch off one head at a time and read again.")
    without = {head: measure_copying(passages, ablate=[list(head)]) for head in heads}
    for head in heads:
        share = without[head].again
        mark = "  <- copying is gone" if broken(without[head], whole) else ""
        print(f"   without {name(head)}  {helpers.bar(share)}  {share:4.0%}{mark}")

    shown = [info["vocabulary"][0], *passages[0][:12] * 2]  # with the start token
    draw(OUTPUTS / "induction-head.svg", shown, found, whole, scores, without)
    report = write_report(info, found, whole, scores, without)
    (OUTPUTS / "report.md").write_text(report, encoding="utf-8")
    print(
        f"\nHead {name(found)} is the induction head. {verdict(found, whole, without)}"
    )
    print("Wrote outputs/report.md and outputs/induction-head.svg.")


def draw_passages(vocabulary: list[str]) -> list[list[str]]:
    rng = random.Random(2024)
    return [rng.sample(vocabulary, WORDS) for _ in range(PASSAGES)]


def show_example(passage: list[str]) -> None:
    heard = passage + passage[:3]
    best = model_tools.predict(" ".join(heard), top_k=1)[0]
    print(
        f"   {' '.join(passage[:5])} ... again: {' '.join(passage[:3])} -> "
        f'"{best["word"]}" ({best["probability"]:.0%} sure)'
    )
    print("   It goes on:", end="")
    for word in model_tools.continue_text(" ".join(heard), words=6):
        print("", word, end="", flush=True)  # as the model finds it
    print()


def measure_copying(passages: list[list[str]], ablate: list[list[int]] = ()) -> Copying:
    correct = np.stack(
        [
            model_tools.loss_by_position(" ".join(passage * 2), ablate=list(ablate))[
                "correct"
            ]
            for passage in passages
        ]
    )
    # That the passage begins again cannot be foreseen.
    return Copying(
        float(correct[:, :WORDS].mean()), float(correct[:, WORDS + 1 :].mean())
    )


def measure_attention(
    passages: list[list[str]], heads: list[Head]
) -> dict[Head, Scores]:
    # Position 0 is the start token, so the second reading begins at WORDS + 1.
    rows = np.arange(WORDS + 1, 2 * WORDS + 1)
    back = [WORDS - 1, 1, 0]  # to what followed last time, one word, none
    patterns = np.stack(
        [model_tools.attention_patterns(" ".join(passage * 2)) for passage in passages]
    )
    shares = [
        patterns[..., rows, rows - step].mean(axis=(0, -1), dtype=float)
        for step in back
    ]
    return {head: Scores(*(float(share[head]) for share in shares)) for head in heads}


def broken(without: Copying, whole: Copying) -> bool:
    """Whether more than half of the copying is lost."""
    return without.again < whole.again / 2


def draw(path: Path, words, found: Head, whole: Copying, scores, without) -> None:
    pattern = model_tools.attention_patterns(" ".join(words))[found]
    count = len(words) // 2
    stripe = [(row, row - count + 1) for row in range(count + 1, 2 * count + 1)]
    parts = [
        helpers.text(
            40,
            44,
            f"Head {name(found)} finds what came next the last time",
            20,
            bold=True,
        ),
        helpers.text(
            40,
            68,
            f"{count} random words, read twice. Each row is a word; the darker a "
            "square, the more the head looks there.",
            12,
            helpers.FAINT,
        ),
        *helpers.heatmap(110, 150, 500, words, pattern, stripe),
        *helpers.legend(126, 668, 120),
        helpers.text(
            300,
            677,
            "framed: the word after this word's last appearance",
            11,
            helpers.ACCENT,
        ),
        helpers.text(700, 44, "Without it, copying is gone", 20, bold=True),
        helpers.text(
            700,
            68,
            "Words foreseen in the second reading, with one head",
            12,
            helpers.FAINT,
        ),
        helpers.text(700, 86, "switched off at a time.", 12, helpers.FAINT),
        *helpers.bars(790, 150, 230, chart(found, whole, scores, without), step=42),
    ]
    helpers.write_picture(path, 1090, 710, parts)


def chart(found: Head, whole: Copying, scores, without) -> list[helpers.Bar]:
    rows = [helpers.Bar("all heads", whole.again, helpers.QUIET)]
    layer = None
    for head in sorted(without):
        if head[0] != layer:
            layer = head[0]
            rows.append(helpers.Bar("", 0, helpers.QUIET, f"layer {layer}"))
        share, colour, note = without[head].again, helpers.QUIET, ""
        if head == found:
            colour, note = helpers.ACCENT, "the head on the left"
        elif broken(without[head], whole):
            colour, note = helpers.SOFT_ACCENT, habit(scores[head])
        rows.append(helpers.Bar(f"without {name(head)}", share, colour, note))
    return rows


def habit(scores: Scores) -> str:
    """Says in words where a head looks most."""
    if scores.itself > max(scores.previous, scores.induction):
        return f"looks at the word itself ({scores.itself:.0%})"
    if scores.previous > scores.induction:
        return f"looks one word back ({scores.previous:.0%})"
    return f"looks at what followed ({scores.induction:.0%})"


def write_report(info, found: Head, whole: Copying, scores, without) -> str:
    rows = [
        [
            f"**{name(head)}**" if head == found else name(head),
            f"{scores[head].induction:.0%}",
            f"{scores[head].previous:.0%}",
            f"{scores[head].itself:.0%}",
            f"{without[head].first:.0%}",
            f"{without[head].again:.0%}",
        ]
        for head in sorted(scores)
    ]
    table = helpers.markdown_table(
        [
            "head",
            "looks at what followed",
            "one word back",
            "at the word itself",
            "foreseen without it, first reading",
            "second reading",
        ],
        rows,
    )
    return f"""# Which head copies?

{verdict(found, whole, without)}

![Where the head looks, and what its removal does](induction-head.svg)

The model ({info["layers"]} layers of {info["heads"]} attention heads, {info["parameters"]:,} parameters) was read {PASSAGES}
passages of {WORDS} random words, each twice in a row. In the first reading it foresees {whole.first:.0%} of
the words, as little as anybody could. In the second it foresees **{whole.again:.0%}**: it looks up what
followed the last time.

{table}

{explain(found, scores, without, whole)}

*Method.* "Looks at what followed": the mean share of a head's attention, over all words of the second
readings, that goes to the word after the same word's first appearance. A head is switched off by setting
its output to zero. Everything was measured by calls to `model_tools`; the agent has seen neither
the weights nor the code.
"""


def verdict(found: Head, whole: Copying, without: dict[Head, Copying]) -> str:
    mates = [
        without[head].again for head in without if head[0] == found[0] and head != found
    ]
    return (
        f"With every head the model copies {whole.again:.0%} of the words, without head {name(found)} "
        f"only {without[found].again:.0%}, and without any other head of its layer still {min(mates):.0%}."
    )


def explain(found: Head, scores, without, whole: Copying) -> str:
    earlier = [h for h in without if h[0] < found[0] and broken(without[h], whole)]
    if not earlier:
        return "No head of an earlier layer is needed for it."
    back = max(earlier, key=lambda head: scores[head].previous)
    others = [head for head in earlier if head != back]
    also = "".join(
        f" Head {name(head)} is needed too; {scores[head].itself:.0%} of its attention stays on the word "
        f"itself, and without it {without[head].again:.0%} are foreseen."
        for head in others
    )
    return (
        f"It does not work alone. Head {name(back)} looks one word back ({scores[back].previous:.0%} of its attention), so "
        f"that every word carries a note of the word before it; head {name(found)} searches these notes for the "
        f"present word. Without the notes the search finds nothing: {without[back].again:.0%} foreseen.{also}"
    )


def name(head: Head) -> str:
    return f"{head[0]}.{head[1]}"


if __name__ == "__main__":
    main()
