"""Keeps the values of secrets, and what tells which model a hidden one is, out of what leaves the worker."""

import json
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple

from .hidden import Hider

_SHORTEST = 4  # a shorter value would cut up ordinary words and hide nothing


_UNENDED = re.compile(r"[\w./\\-]{0,200}\Z")  # a name that may go on


class Scrubber:
    """Replaces the value of a secret by [secret NAME], and the name of a hidden model by its variable."""

    def __init__(self, secrets: Iterable[Tuple[str, str]] = (), models: Iterable[Mapping[str, Any]] = ()) -> None:
        found = sorted(((v, n) for n, v in secrets if len(v) >= _SHORTEST), key=lambda s: -len(s[0]))
        self._secrets: List[Tuple[str, str]] = [(v, "[secret %s]" % n) for v, n in found]
        # A session's machine is not told the name: there is nothing to hide but words of the variable.
        hidden = [m for m in models if m.get("hidden") and m.get("name") != m.get("var_name")]
        self._hide, self.hides = Hider(hidden).text, bool(hidden)
        forms: Dict[str, None] = {}
        for value, _ in found:
            forms[json.dumps(value, ensure_ascii=False)[1:-1]] = None
            forms[json.dumps(value)[1:-1]] = None
        self.escaped: Tuple[str, ...] = tuple(forms)  # what to look for in JSON text

    def text(self, text: str) -> str:
        """Of errors, of what is printed, and of the description."""
        return self.value(self._hide(text))

    def value(self, text: str) -> str:
        """Of results, which say what the function says: secrets alone are taken out."""
        for value, mark in self._secrets:
            if value in text:
                text = text.replace(value, mark)
        return text

    def tree(self, value: Any) -> Any:
        """What text does, for every string of a JSON value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.tree(v) for v in value]
        if isinstance(value, dict):
            return {self.text(k): self.tree(v) for k, v in value.items()}
        return value


def cut(text: str, scrub: Callable[[str], str], secrets: Sequence[str], hides: bool) -> Tuple[str, str]:
    """Of a text that goes on: what can be given, scrubbed, and what may be the beginning of something that must not be."""
    if hides:  # a name is held as it came: were only a part of it taken out, the rest would tell
        at = min(_UNENDED.search(text).start(), len(text) - _begun(text, secrets))  # type: ignore[union-attr]
        given = scrub(text[:at])
        if scrub(text) == given + scrub(text[at:]):
            return given, text[at:]
    text = scrub(text)
    at = len(text) - _begun(text, secrets)
    return text[:at], text[at:]


def _begun(text: str, secrets: Sequence[str]) -> int:
    """How many characters at the end of the text begin a secret."""
    for n in range(min(max(map(len, secrets), default=1) - 1, len(text)), 0, -1):
        if any(len(s) > n and text.endswith(s[:n]) for s in secrets):
            return n
    return 0
