"""Helpers for counting words: `helpers.followers(text, word)`."""
from collections import Counter
from typing import Dict


def followers(text: str, word: str) -> Dict[str, float]:
    """The words that follow a word, with their probabilities."""
    words = text.split()
    counts = Counter(second for first, second in zip(words, words[1:]) if first == word)
    return {w: n / sum(counts.values()) for w, n in counts.most_common()}
