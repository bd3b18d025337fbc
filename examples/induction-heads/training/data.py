"""Sequences in which a random segment comes again and again.

Nothing but the sequence itself can tell what follows: the words of a segment
are drawn at random, and so are the lengths of the segment and of the filler
between its copies. A model that predicts the copies has learned to look back
for the last time that it saw a word and to say what came after it.
"""

from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Token ids, and which of them can be known from what came before."""

    tokens: np.ndarray  # (sequences, length) int64; column 0 is the start token
    copied: np.ndarray  # (sequences, length) bool; True: predictable by copying


def repeated_segments(
    rng: np.random.Generator, sequences: int, length: int, vocabulary: int
) -> Batch:
    """Draws sequences of prefix, segment, filler, segment, filler, ...

    All words of a sequence differ, but for the copies; so a word has one meaning:
    "go on as after my last appearance".
    """
    tokens = np.zeros((sequences, length), dtype=np.int64)
    copied = np.zeros((sequences, length), dtype=bool)
    for row in range(sequences):
        tokens[row, 1:], copied[row, 1:] = _sequence(rng, length - 1, vocabulary)
    return Batch(tokens, copied)


def no_repeats(
    rng: np.random.Generator, sequences: int, length: int, vocabulary: int
) -> Batch:
    """Draws sequences in which no word comes twice: nothing can be copied."""
    tokens = np.zeros((sequences, length), dtype=np.int64)
    for row in range(sequences):
        tokens[row, 1:] = rng.permutation(vocabulary - 1)[: length - 1] + 1
    return Batch(tokens, np.zeros(tokens.shape, dtype=bool))


def _sequence(rng: np.random.Generator, length: int, vocabulary: int):
    fresh = iter(rng.permutation(vocabulary - 1) + 1)
    prefix = [next(fresh) for _ in range(rng.integers(0, 9))]
    segment = [next(fresh) for _ in range(rng.integers(6, 21))]
    words = prefix + segment
    known = [False] * len(words)
    while len(words) < length:
        filler = [next(fresh) for _ in range(rng.integers(0, 5))]
        words += filler + segment
        # A copy's first word cannot be foreseen: the filler's length is random.
        known += [False] * (len(filler) + 1) + [True] * (len(segment) - 1)
    return words[:length], known[:length]
