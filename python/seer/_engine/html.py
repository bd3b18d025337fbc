"""How objects show themselves in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

LONGEST = 10_000  # characters of a text


def table(*rows: tuple[str, Any]) -> str:
    """A table of names and values. Empty values are left out."""
    return f"<table>{''.join(_row(escape(name), shown(value)) for name, value in rows if value not in (None, '', [], ()))}</table>"


def _row(name: str, value: str) -> str:
    return f"<tr><th>{name}</th><td>{value}</td></tr>"


class Link(str):
    """An address that opens beside the notebook."""


def shown(value: Any) -> str:
    """A value: a list has a line for each item."""
    if isinstance(value, Link):
        return f'<a href="{escape(value)}" target="_blank">open</a>'
    if isinstance(value, (list, tuple)):
        return "<br>".join(shown(item) for item in value)
    text = str(value)
    left = len(text) - LONGEST
    text = escape(text[:LONGEST]) + (f"… {left} more characters" if left > 0 else "")
    return f'<pre style="text-align: left">{text}</pre>' if "\n" in text else text
