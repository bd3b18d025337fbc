"""Keeps the names of hidden models out of errors, output and descriptions."""

import posixpath
import re
from typing import Any, Dict, Iterable, List, Mapping

from .inject import canonical

# Parts of paths that say nothing about a model.
_COMMON = {"models", "model", "data", "workspace", "home", "root", "tmp", "mnt", "opt", "usr", "var", "srv", "hub", "cache", "main",
           "weights", "snapshots", "checkpoints", "checkpoint", "latest", "final", "hf", "huggingface", "local", "the", "my"}
_LONG = 8  # a name of so many letters is looked for inside words, too


class Hider:
    """Replaces what tells which model a hidden one is by its variable, or by [hidden model]."""

    def __init__(self, models: Iterable[Mapping[str, Any]] = ()) -> None:
        found: Dict[str, str] = {}
        for model in models:
            if model.get("hidden"):
                for pattern in _patterns(model):
                    found.setdefault(pattern, model.get("var_name") or "[hidden model]")
        ordered = sorted(found.items(), key=lambda f: -len(f[0]))
        self._marks = [mark for _, mark in ordered]
        self._pattern = re.compile("|".join("(%s)" % p for p, _ in ordered)) if ordered else None

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(lambda m: self._marks[(m.lastindex or 1) - 1], text)


def _patterns(model: Mapping[str, Any]) -> List[str]:
    name, path = str(model.get("name", "")), str(model.get("path", ""))
    patterns = [_exactly(t) for t in (path, name, str(model.get("env_name", ""))) if len(t) > 2]
    whole = canonical(name)
    last = posixpath.basename(whole)
    for form in (whole, last, posixpath.basename(path)):
        words = re.findall(r"[A-Za-z0-9]+", form)
        if words:
            patterns.append(_spelled(words))
    patterns += [_word(part) for part in whole.split("/")[:-1] if len(part) > 2 and part.lower() not in _COMMON]
    family = re.match(r"[A-Za-z]{4,}", last)
    if family and family.group().lower() not in _COMMON:  # Gemma2ForCausalLM, modeling_gemma2.py
        patterns.append(r"(?<![A-Za-z])(?i:%s)[A-Za-z0-9]*" % family.group())
    return patterns


def _exactly(text: str) -> str:
    before, after = ("(?<![A-Za-z0-9])" if text[0].isalnum() else ""), ("(?![A-Za-z0-9])" if text[-1].isalnum() else "")
    return before + re.escape(text) + after


def _spelled(words: List[str]) -> str:
    """The words in any spelling: secret-one, SECRET_ONE, SecretOne, org--secret-one."""
    pattern = "(?i:%s)" % r"[^A-Za-z0-9\n]{0,3}".join(words)
    return pattern if sum(map(len, words)) >= _LONG else "(?<![A-Za-z0-9])%s(?![a-z0-9])" % pattern


def _word(text: str) -> str:
    return "(?<![A-Za-z0-9])(?i:%s)(?![A-Za-z0-9])" % re.escape(text)
