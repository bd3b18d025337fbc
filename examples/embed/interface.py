"""Words and their letters."""


@expose
def count(word: str, letter: str) -> int:
    """How often a letter is in a word."""
    return word.lower().count(letter.lower())


@expose
def shout(word: str) -> str:
    """The word in capitals."""
    return word.upper()
