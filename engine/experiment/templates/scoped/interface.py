"""A tiny language model: which word follows which.

This file runs in the sandbox. Only functions marked with @expose can be called
from outside; everything else stays private.
"""
from collections import Counter, defaultdict
from typing import Dict

TEXT = "the cat saw the dog and the dog saw the cat and the bird"

# Module-level state stays for as long as the interface is served.
following: Dict[str, Counter] = defaultdict(Counter)
words = TEXT.split()
for first, second in zip(words, words[1:]):
    following[first][second] += 1


@expose  # noqa: F821 - put here by Seer
def get_model_info() -> dict:
    """What the model was made from."""
    return {"words": len(words), "vocabulary": sorted(set(words))}


@expose  # noqa: F821 - put here by Seer
def next_words(word: str, top: int = 3) -> Dict[str, float]:
    """The words that follow a word, with their probabilities."""
    counts = following.get(word, Counter())
    total = sum(counts.values())
    return {w: n / total for w, n in counts.most_common(top)}
