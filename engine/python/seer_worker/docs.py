"""What a docstring says about single parameters: Google style and :param name: fields."""

import re
from typing import Dict, List

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):\s*$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")


def param_docs(doc: str) -> Dict[str, str]:
    """Parameter to description; doc has been cleaned of its indentation."""
    found: Dict[str, List[str]] = {}
    section = entry = -1  # indentation of the section's heading and of its entries; -1 = outside
    current: List[str] = []
    for line in doc.splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        field = _FIELD.match(text)
        if field:
            current = found.setdefault(field.group(1), [field.group(2)])
            section, entry = -1, indent
        elif _SECTION.match(text):
            section, entry, current = indent, -1, []
        elif not text:
            current = current if section >= 0 else []
        elif section >= 0 and indent <= section:
            section, current = -1, []
        elif section >= 0 and entry in (-1, indent):
            match = _ENTRY.match(text)
            entry = indent
            current = found.setdefault(match.group(1), [match.group(2)]) if match else []
        elif current and indent > entry:
            current.append(text)
        else:
            current = []
    return {name: " ".join(p for p in parts if p) for name, parts in found.items() if any(parts)}
