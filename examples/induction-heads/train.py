#!/usr/bin/env python3
"""Trains the model of this example and writes it, with its card, to ./model.

    /usr/bin/python3 train.py            about a minute; needs only NumPy

The same seed on the same machine gives the same bytes.
"""

import argparse
import json
import os
import time
from pathlib import Path

# Several threads may add in another order: one thread makes runs repeat exactly.
# Must be set before NumPy is imported.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from training import card, data, measure, network, safetensors
from training.adam import Adam
from training.words import VOCABULARY

SHAPE = network.Shape(
    vocabulary=len(VOCABULARY), context=64, layers=2, heads=4, width=64, head_width=32
)
WARM_UP = 100


def train(shape: network.Shape, *, seed: int, steps: int, batch: int, report=None):
    """Returns trained weights and the loss of every step."""
    rng = np.random.default_rng(seed)
    weights = network.initial(shape, rng)
    adam = Adam(weights, decay=0.05)
    losses = []
    for step in range(1, steps + 1):
        tokens, _ = data.repeated_segments(rng, batch, shape.context, shape.vocabulary)
        loss, gradient = network.loss_and_gradient(weights, shape, tokens)
        adam.step(gradient, _rate(step, steps))
        losses.append(loss)
        if report and step % 100 == 0:
            report(step, sum(losses[-100:]) / 100)
    return weights, losses


def _rate(step: int, steps: int) -> float:
    return 3e-3 * min(1, step / WARM_UP) * (0.1 + 0.9 * (1 - step / steps))


def write(folder: Path, weights: network.Weights, config: dict) -> dict:
    """Writes everything that belongs to the model; returns its figures."""
    figures = measure.figures(weights, SHAPE)
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.save(folder / "model.safetensors", weights)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")
    (folder / "MODEL_CARD.md").write_text(card.render(config, figures))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()

    began = time.monotonic()
    run = {"seed": arguments.seed, "steps": arguments.steps, "batch": arguments.batch}
    weights, _ = train(
        SHAPE,
        **run,
        report=lambda step, loss: print(f"step {step:5}  loss {loss:.3f}", flush=True),
    )
    config = {"architecture": "attention-only", **SHAPE._asdict(), **run}
    figures = write(arguments.out, weights, config)
    print(
        f"{figures['loss']['accuracy_copied']:.1%} of the copies right; "
        f"{time.monotonic() - began:.0f} s; written to {arguments.out}"
    )


if __name__ == "__main__":
    main()
