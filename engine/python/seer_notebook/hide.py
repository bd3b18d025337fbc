"""Keeps hidden words out of everything that the service says."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Tuple

_ANSI = r"(?:\x1b\[[0-9;]*m)*"  # IPython colours the parts of a name apart
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ENDING = re.compile(r"\x1b(?:\[[0-9;]*)?\Z|(?:\x1b\[[0-9;]*m)+\Z")


class Hider:
    """Replaces words by their marks, in any case of letters, the longest first."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._marks: Dict[str, str] = {w.lower(): m for w, m in words.items()}
        self._words: List[str] = sorted(self._marks, key=len, reverse=True)
        patterns = [_ANSI.join(re.escape(c) for c in w) for w in self._words]
        self._pattern = re.compile("|".join("(%s)" % p for p in patterns), re.IGNORECASE) if patterns else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        if self._pattern is None or not self._has(text):
            return text
        return self._pattern.sub(lambda m: self._marks[self._words[(m.lastindex or 1) - 1]], text)

    def tree(self, value: Any) -> Any:
        """The same for every text of a JSON value, keys as well."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (list, tuple)):
            return [self.tree(v) for v in value]
        if isinstance(value, dict):
            return {self.text(str(k)): v if _is_bytes(k, v) else self.tree(v) for k, v in value.items()}
        return value

    def cut(self, text: str) -> Tuple[str, str]:
        """Of a text that goes on: what can be said, and the tail, as it came, in which a word may have begun."""
        if self._pattern is None:
            return text, ""
        at = len(text) - self._begun(text)
        # A word that is whole is not cut, nor one that a longer one may follow from.
        for match in self._pattern.finditer(text) if self._has(text) else ():
            if match.start() < at < match.end():
                at = match.start()
        return self.text(text[:at]), text[at:]

    def _has(self, text: str) -> bool:
        """Looks fast at what is long: mostly there is nothing."""
        bare = (_COLOUR.sub("", text) if "\x1b" in text else text).lower()
        return any(word in bare for word in self._words)

    def _begun(self, text: str) -> int:
        """How many characters at the end may begin a word."""
        if not self._words:
            return 0
        bare: List[str] = []
        places: List[int] = []  # of each bare character
        start = max(0, len(text) - 8 * len(self._words[0]) - 64)
        ending = _ENDING.search(text, start)
        at = start
        for match in _COLOUR.finditer(text[start:]):
            bare += text[at:start + match.start()]
            places += range(at, start + match.start())
            at = start + match.end()
        end = ending.start() if ending else len(text)
        bare += text[at:max(at, end)]
        places += range(at, max(at, end))
        tail = "".join(bare)
        for n in range(min(len(self._words[0]) - 1, len(tail)), 0, -1):
            if any(len(w) > n and tail[-n:].lower() == w[:n] for w in self._words):
                return len(text) - places[-n]
        return 0


def _is_bytes(key: Any, value: Any) -> bool:
    """An image in base64 says no words, and is long."""
    return isinstance(value, str) and isinstance(key, str) and key.startswith(("image/", "audio/", "video/")) and key != "image/svg+xml"
