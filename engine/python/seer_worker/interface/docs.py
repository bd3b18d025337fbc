"""What a docstring says about single parameters and the result: Google's, NumPy's and Sphinx's style."""

import re
from typing import Dict, Iterator, List, Match, NamedTuple, Optional, Pattern, Tuple

_PARAMS = ("Args", "Arguments", "Parameters", "Params", "Keyword Args", "Keyword Arguments", "Other Parameters")
_RETURNS = ("Returns", "Return", "Yields", "Yield")
_OTHERS = ("Raises", "Warns", "Warnings", "Warning", "Note", "Notes", "Example", "Examples", "See Also", "References", "Todo", "Attributes",
           "Receives", "Methods", "Side Effects")
_HEADING = re.compile(r"^(%s):?\s*$" % "|".join((*_PARAMS, *_RETURNS, *_OTHERS)))
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\((?:[^()]|\([^)]*\))*\))?\s*:(?:\s+(.*))?$")
_NUMPY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r"^:(param|parameter|arg|argument|key|keyword|returns?|yields?)(?:\s+([^:]*?))?\s*:\s*(.*)$")
_OTHER_FIELD = re.compile(r"^:\w+[^:]*:")
# A result is "type: text", or only text: before the colon stands nothing that looks like a sentence.
_TYPED = re.compile(r"^[\w.\[\], |]{1,60}:\s+(\S.*)$")


class Docs(NamedTuple):
    params: Dict[str, str]
    returns: str


def docs_of(doc: str) -> Docs:
    """doc has been cleaned of its indentation. It is only read: what is found here stays in it."""
    lines = doc.splitlines()
    params: Dict[str, List[str]] = {}
    returns: List[str] = []
    i = 0
    while i < len(lines):
        field = _FIELD.match(lines[i].strip())
        if field:
            i = _field(lines, i, field, params, returns)
            continue
        match = _HEADING.match(lines[i].strip())
        if match and i + 1 < len(lines) and re.match(r"^\s*-{3,}\s*$", lines[i + 1]):
            i = _section(lines, i + 2, _indent(lines[i]), match.group(1), True, params, returns)
        elif match and lines[i].strip().endswith(":"):
            i = _section(lines, i + 1, _indent(lines[i]) + 1, match.group(1), False, params, returns)
        else:
            i += 1
    return Docs({name: " ".join(parts) for name, parts in params.items() if parts}, " ".join(returns))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _field(lines: List[str], i: int, field: "re.Match[str]", params: Dict[str, List[str]], returns: List[str]) -> int:
    """:param int name: and what follows it, further to the right or right below."""
    indent, parts = _indent(lines[i]), [field.group(3)]
    i += 1
    while i < len(lines) and lines[i].strip() and not _OTHER_FIELD.match(lines[i].strip()) and _indent(lines[i]) > indent:
        parts.append(lines[i].strip())
        i += 1
    kept = [p for p in parts if p]
    if field.group(1)[0] in "ry":
        returns.extend(kept)
    elif field.group(2):
        params.setdefault(field.group(2).split()[-1].lstrip("*\\"), []).extend(kept)
    return i


def _section(lines: List[str], i: int, indent: int, title: str, numpy: bool, params: Dict[str, List[str]], returns: List[str]) -> int:
    """The lines below a heading, until one that is less indented or, in NumPy's style, the next heading."""
    body: List[str] = []
    while i < len(lines) and not _ends(lines, i, indent, numpy):
        body.append(lines[i])
        i += 1
    if title in _PARAMS:
        for name, parts in (_numpy if numpy else _google)(body).items():
            params.setdefault(name, []).extend(parts)
    elif title in _RETURNS and not returns:
        returns.extend(_result(body, numpy))
    return i


def _ends(lines: List[str], i: int, indent: int, numpy: bool) -> bool:
    line = lines[i]
    if not line.strip():
        return False
    if numpy:
        return _indent(line) < indent or i + 1 < len(lines) and re.match(r"^\s*-{3,}\s*$", lines[i + 1]) is not None
    return _indent(line) < indent


def _entries(body: List[str], beginning: Pattern[str]) -> Iterator[Tuple[str, bool, Optional[Match[str]]]]:
    """Each line with text: the text, whether it begins an entry, and what the pattern of a beginning finds in it."""
    entry = -1
    for line in body:
        text, indent = line.strip(), _indent(line)
        if not text:
            continue
        entry = indent if entry < 0 else entry
        begins = indent <= entry
        yield text, begins, beginning.match(text) if begins else None


def _google(body: List[str]) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    current = [""]
    for text, begins, match in _entries(body, _GOOGLE):
        if match:
            current = found.setdefault(match.group(1), [])
            text = match.group(2) or ""
        elif begins:
            current = [""]
        if text:
            current.append(text)
    return found


def _numpy(body: List[str]) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    current = [[""]]
    for text, begins, match in _entries(body, _NUMPY):
        if match:
            current = [found.setdefault(name.strip().lstrip("*"), []) for name in match.group(1).split(",")]
        elif begins:
            current = [[""]]
        else:
            for parts in current:
                parts.append(text)
    return found


def _result(body: List[str], numpy: bool) -> List[str]:
    texts = [line.strip() for line in body if line.strip()]
    if not texts:
        return []
    if numpy:  # a type, or a name and a type, and below it the text
        first = min(_indent(line) for line in body if line.strip())
        below = [line.strip() for line in body if line.strip() and _indent(line) > first]
        return below or texts
    typed = _TYPED.match(texts[0])
    return [typed.group(1) if typed else texts[0], *texts[1:]]
