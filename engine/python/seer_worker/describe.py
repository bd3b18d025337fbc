"""Describes what an interface exposes: the JSON of sdk.Interface."""

import ast
import inspect
from typing import Any, Callable, Dict, List, Optional, Union

from .docs import param_docs
from .load import Interface
from .schema import Schema, hints_of, schema_of

_Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_LONGEST_REPR = 500
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def describe(interface: Interface) -> Dict[str, Any]:
    source = _Source(interface.script.source)
    described: Dict[str, Any] = {
        "module": interface.module.__name__,
        "functions": [_function(name, f, source) for name, f in interface.registry.functions.items()],
        "code_hash": interface.code_hash,
    }
    if interface.module.__doc__:
        described["doc"] = inspect.cleandoc(interface.module.__doc__)
    return described


class _Source:
    """Finds the definition of a function in the text, for annotations as they were written."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._definitions: Dict[Any, _Definition] = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                self._definitions[node.name, first] = node

    def definition(self, function: Callable[..., Any]) -> Optional[_Definition]:
        code = getattr(inspect.unwrap(function), "__code__", None)
        return self._definitions.get((code.co_name, code.co_firstlineno)) if code else None

    def annotation(self, node: Optional[ast.AST]) -> str:
        if node is None:
            return ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        text = ast.get_source_segment(self._text, node) or ""
        return ast.unparse(node) if "\n" in text and hasattr(ast, "unparse") else " ".join(text.split())


def _function(name: str, function: Callable[..., Any], source: _Source) -> Dict[str, Any]:
    definition = source.definition(function)
    annotations = {a.arg: source.annotation(a.annotation) for a in _arguments(definition)}
    hints = hints_of(inspect.unwrap(function))
    doc = inspect.getdoc(function) or ""
    docs = param_docs(doc)
    signature = signature_of(function)
    params = [_param(p, annotations, hints, docs) for p in signature.parameters.values()] if signature else _anything()
    described: Dict[str, Any] = {"name": name, "params": params, "input_schema": _input_schema(params)}
    if doc:
        described["doc"] = doc
    if is_async(function):
        described["async"] = True
    if definition is not None:
        described["line"] = definition.lineno
        described["returns"] = source.annotation(definition.returns)
    output = schema_of(hints["return"]) if "return" in hints else {}
    if output:
        described["output_schema"] = output
    return {k: v for k, v in described.items() if v != ""}


def signature_of(function: Callable[..., Any]) -> Optional[inspect.Signature]:
    """None for a callable that does not tell."""
    try:
        return inspect.signature(function)
    except NameError:  # Python 3.14 evaluates annotations now, and one of them names something unknown
        import annotationlib  # type: ignore[import-not-found, unused-ignore]
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)  # type: ignore[call-arg, unused-ignore]
    except (TypeError, ValueError):
        return None


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inspect.unwrap(function))


def _arguments(definition: Optional[_Definition]) -> List[ast.arg]:
    if definition is None:
        return []
    a = definition.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]


def _param(p: inspect.Parameter, annotations: Dict[str, str], hints: Dict[str, Any], docs: Dict[str, str]) -> Dict[str, Any]:
    described: Dict[str, Any] = {"name": p.name, "kind": _KINDS[p.kind]}
    annotation = annotations.get(p.name) or _shown(p.annotation)
    if annotation:
        described["annotation"] = annotation
    if p.default is not p.empty:
        described["has_default"] = True
        described["default_repr"] = _repr(p.default)
        if _is_json(p.default):
            described["default"] = p.default
    schema = _param_schema(p, hints)
    doc = docs.get(p.name) or schema.get("description", "")
    if doc:
        described["doc"] = doc
        schema["description"] = doc
    if "default" in described:
        schema["default"] = p.default
    if schema:
        described["schema"] = schema
    return described


def _shown(annotation: Any) -> str:
    """Of a function whose definition is not in the file."""
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _param_schema(p: inspect.Parameter, hints: Dict[str, Any]) -> Schema:
    """Of what a caller gives under the parameter's name: a list for *args, an object for **kwargs."""
    schema = schema_of(hints[p.name]) if p.name in hints else {}
    if p.kind is p.VAR_POSITIONAL:
        return {"type": "array", "items": schema} if schema else {"type": "array"}
    if p.kind is p.VAR_KEYWORD:
        return {"type": "object", "additionalProperties": schema} if schema else {"type": "object"}
    return schema


def _input_schema(params: List[Dict[str, Any]]) -> Schema:
    schema: Schema = {"type": "object", "properties": {p["name"]: p.get("schema", {}) for p in params}}
    variable = ("var_positional", "var_keyword")
    required = [p["name"] for p in params if "has_default" not in p and p["kind"] not in variable]
    if required:
        schema["required"] = required
    extra = [p for p in params if p["kind"] == "var_keyword"]
    schema["additionalProperties"] = extra[0].get("schema", {}).get("additionalProperties", True) if extra else False
    return schema


def _anything() -> List[Dict[str, Any]]:
    return [{"name": "args", "kind": "var_positional", "schema": {"type": "array"}},
            {"name": "kwargs", "kind": "var_keyword", "schema": {"type": "object"}}]


def _repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as e:
        text = "<%s whose repr raises %s>" % (type(value).__name__, type(e).__name__)
    return text if len(text) <= _LONGEST_REPR else text[:_LONGEST_REPR] + "…"


def _is_json(value: Any) -> bool:
    """Whether it is JSON as it stands; an enum member or a NumPy float only looks like it."""
    if value is None or type(value) in (bool, str):
        return True
    if type(value) is int:
        return value.bit_length() <= 64
    if type(value) is float:
        return value - value == 0
    if type(value) is list:
        return all(map(_is_json, value))
    return type(value) is dict and all(type(k) is str and _is_json(v) for k, v in value.items())
