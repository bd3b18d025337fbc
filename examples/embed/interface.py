"""Words and their letters."""

from collections.abc import Iterator


@expose
def count(word: str, letter: str) -> int:
    """How often a letter is in a word."""
    return word.lower().count(letter.lower())


@expose
def shout(word: str) -> str:
    """The word in capitals."""
    return word.upper()


@expose
def letters(word: str) -> Iterator[str]:
    """The letters, one after the other."""
    yield from word
