"""The text of an interface file: annotations as they were written, and the shapes that comments name."""

import ast
import inspect
import io
import tokenize
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from ..schema.arrays import shape_in

Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]


class Source:
    """Finds the definition of a function in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._comments = _comments(text)
        self._definitions: Dict[Tuple[str, int], Definition] = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._definitions[node.name, first_line(node)] = node

    def definition(self, function: Callable[..., Any]) -> Optional[Definition]:
        code = getattr(inspect.unwrap(function), "__code__", None)
        return self._definitions.get((code.co_name, code.co_firstlineno)) if code else None

    def annotation(self, node: Optional[ast.AST], element: bool = False) -> str:
        """As it was written; with element what is inside the brackets of list[…], and nothing if it is no such thing."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _element_of_text(node.value) if element else node.value
        if element and node is not None:
            node = _element(node)
        if node is None:
            return ""
        text = ast.get_source_segment(self._text, node) or ""
        return ast.unparse(node) if "\n" in text and hasattr(ast, "unparse") else " ".join(text.split())

    def shapes(self, definition: Definition) -> Dict[str, str]:
        """Parameter to the shape in the comment behind it, (batch, seq); of the result under "return"."""
        ends: Dict[int, Tuple[int, str]] = {}
        for name, node in _annotated(definition):
            line, column = getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)
            ends[line] = max(ends.get(line, (-1, "")), (column, name))
        found = {name: shape_in(self._comments.get(line, "")) for line, (_, name) in ends.items()}
        return {name: shape for name, shape in found.items() if shape}


def first_line(node: Definition) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def arguments(definition: Optional[Definition]) -> List[ast.arg]:
    if definition is None:
        return []
    a = definition.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def _annotated(definition: Definition) -> Iterator[Tuple[str, ast.AST]]:
    for argument in arguments(definition):
        yield argument.arg, argument
    a = definition.args
    for arg, default in zip([*a.posonlyargs, *a.args][::-1], a.defaults[::-1]):
        yield arg.arg, default
    for arg, value in zip(a.kwonlyargs, a.kw_defaults):
        if value is not None:
            yield arg.arg, value
    if definition.returns is not None:
        yield "return", definition.returns


def _comments(text: str) -> Dict[int, str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return {}
    return {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}


def _element(node: ast.AST) -> Optional[ast.AST]:
    if not isinstance(node, ast.Subscript):
        return None
    inner: Any = node.slice
    found: ast.AST = inner.value if type(inner).__name__ == "Index" else inner  # of Python 3.8
    return found


def _element_of_text(text: str) -> str:
    try:
        node = _element(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        return ""
    return ast.get_source_segment(text.strip(), node) or "" if node is not None else ""
