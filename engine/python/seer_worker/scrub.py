"""Keeps the values of secrets, and what tells which model a hidden one is, out of what leaves the worker."""

import json
from typing import Any, Dict, Iterable, List, Mapping, Tuple

from .hidden import Hider

_SHORTEST = 4  # a shorter value would cut up ordinary words and hide nothing


class Scrubber:
    """Replaces the value of a secret by [secret NAME], and the name of a hidden model by its variable."""

    def __init__(self, secrets: Iterable[Tuple[str, str]] = (), models: Iterable[Mapping[str, Any]] = ()) -> None:
        found = sorted(((v, n) for n, v in secrets if len(v) >= _SHORTEST), key=lambda s: -len(s[0]))
        self._secrets: List[Tuple[str, str]] = [(v, "[secret %s]" % n) for v, n in found]
        self._hide = Hider(models).text
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
