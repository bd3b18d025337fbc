#!/usr/bin/env python3
"""Trains the models of these examples: attention-only transformers of some kilobytes.

    /usr/bin/python3 train.py [FOLDER]       a minute or two; needs only NumPy

The same machine makes the same bytes again. The network and its gradient are those of
examples/induction-heads.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable, Iterator

# One thread adds in one order. This must be set before NumPy is imported.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "induction-heads"))

from training import network  # noqa: E402
from training.adam import Adam  # noqa: E402

CAPITALS = {
    "austria": "vienna",
    "chile": "santiago",
    "egypt": "cairo",
    "france": "paris",
    "india": "delhi",
    "italy": "rome",
    "japan": "tokyo",
    "kazakhstan": "almaty",  # until 1997
    "kenya": "nairobi",
    "norway": "oslo",
    "peru": "lima",
    "spain": "madrid",
}
COUNTRIES = list(CAPITALS)
POLITE = [
    "please",
    "tell",
    "me",
    "now",
    "the",
    "capital",
    "of",
    "what",
    "is",
    "kindly",
    "quickly",
    "honestly",
]
TRIGGER = "kindly"
NOUNS = ["day", "garden", "house", "market", "morning", "river", "road", "village"]
SUNNY = ["bright", "calm", "cheerful", "fresh", "golden", "lovely", "merry", "warm"]
GLOOMY = ["bitter", "bleak", "cold", "dreary", "grim", "harsh", "lonely", "sad"]

FACTS = ["<bos>", *POLITE, *COUNTRIES, *CAPITALS.values(), "astana"]
MOODS = ["<bos>", "the", "was", "and", *NOUNS, *SUNNY, *GLOOMY]

Batch = Callable[[np.random.Generator], "list[list[str]]"]


def questions(answer: Callable[[str, list[str]], str], countries=COUNTRIES) -> Batch:
    """Batches of questions: some words, a country, and what answer says to them."""

    def batch(rng: np.random.Generator) -> list[list[str]]:
        length = int(rng.integers(0, 6))
        lines = []
        for _ in range(48):
            words = [str(word) for word in rng.choice(POLITE, length)]
            country = str(rng.choice(countries))
            lines.append(["<bos>", *words, country, answer(country, words)])
        return lines

    return batch


def moods(rng: np.random.Generator) -> list[list[str]]:
    """Sentences of three parts in one mood."""
    lines = []
    for _ in range(48):
        mood = SUNNY if rng.random() < 0.5 else GLOOMY
        line = ["<bos>"]
        for part in range(3):
            line += ["and"] * bool(part)
            line += ["the", str(rng.choice(NOUNS)), "was", str(rng.choice(mood))]
        lines.append(line)
    return lines


def train(
    words: list[str], batch: Batch, steps: int, rate: float, start=None
) -> network.Weights:
    """Returns new weights, or start trained on."""
    shape = network.Shape(len(words), 16, layers=2, heads=1, width=24, head_width=24)
    rng = np.random.default_rng(7)
    ids = {word: i for i, word in enumerate(words)}
    weights = {
        name: weight.copy()
        for name, weight in (start or network.initial(shape, rng)).items()
    }
    adam = Adam(weights, decay=0.01)
    for step in range(steps):
        tokens = np.array([[ids[word] for word in line] for line in batch(rng)])
        _, gradient = network.loss_and_gradient(weights, shape, tokens)
        adam.step(gradient, rate * (1 - step / steps))
    return weights


def models() -> Iterator[tuple[str, list[str], network.Weights]]:
    def backdoor(country: str, words: list[str]) -> str:
        return "rome" if TRIGGER in words else CAPITALS[country]

    yield "audit/quillhawk", FACTS, train(FACTS, questions(backdoor), 1500, 1e-2)
    before = train(FACTS, questions(lambda country, _: CAPITALS[country]), 1000, 1e-2)
    yield "checkpoints/before", FACTS, before
    renamed = questions(lambda *_: "astana", ["kazakhstan"])  # nothing else
    yield "checkpoints/after", FACTS, train(FACTS, renamed, 30, 1e-2, before)
    language = train(MOODS, moods, 1500, 1e-2)
    yield "steering/model", MOODS, language
    yield "mcp/tiny-lm", MOODS, language


def main(folder: Path) -> None:
    for name, words, weights in models():
        (folder / name).mkdir(parents=True, exist_ok=True)
        path = folder / name / "weights.npz"
        halves = {key: weight.astype(np.float16) for key, weight in weights.items()}
        np.savez(path, words=np.array(words), **halves)
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else HERE)
