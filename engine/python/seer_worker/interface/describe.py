"""Describes what an interface exposes: the JSON of sdk.Interface."""

import enum
import inspect
from typing import Any, Callable, Dict, List, Optional

from ..schema.options import Options
from ..schema.schema import node_schema
from ..schema.types import Defs, Node, Schema
from ..schema.validate import Binder, Parameter, signature_of
from .docs import Docs, docs_of
from .load import Interface
from .source import Source, arguments

__all__ = ["describe", "is_async", "signature_of"]

_LONGEST_REPR = 500
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def describe(interface: Interface) -> Dict[str, Any]:
    source = Source(interface.script.source)
    options, binders = interface.registry.options, interface.binders
    described: Dict[str, Any] = {
        "module": interface.module.__name__,
        "functions": [_function(name, f, options[name], binders[name], source) for name, f in interface.registry.functions.items()],
        "code_hash": interface.code_hash,
    }
    if interface.module.__doc__:
        described["doc"] = inspect.cleandoc(interface.module.__doc__)
    return described


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inspect.unwrap(function))


def _function(name: str, function: Callable[..., Any], options: Options, binder: Binder, source: Source) -> Dict[str, Any]:
    definition = source.definition(function)
    one = options.batch > 0  # what is said is about one call of a batch
    annotations = {a.arg: source.annotation(a.annotation, one) for a in arguments(definition)}
    doc = inspect.getdoc(function) or ""
    docs = docs_of(doc)
    for place, shape in (source.shapes(definition) if definition else {}).items():
        for node in [binder.returns] if place == "return" else [p.node for p in binder.parameters if p.name == place]:
            node.take_shape(shape)
    described: Dict[str, Any] = {"name": name, "doc": doc, **_options(options)}
    if definition is not None:
        described["line"] = definition.lineno
        described["returns"] = source.annotation(definition.returns, one)
    described.update(_inputs(binder, annotations, docs, one))
    output = _output(binder.returns, docs)
    if output:
        described["output_schema"] = output
    return {k: v for k, v in described.items() if v != ""}


def _options(options: Options) -> Dict[str, Any]:
    said = {"async": options.is_async, "stream": options.stream, "concurrent": options.concurrent, "batch": options.batch,
            "timeout_seconds": options.timeout, "title": options.title, "hints": dict(options.hints)}
    return {k: v for k, v in said.items() if v}


def _inputs(binder: Binder, annotations: Dict[str, str], docs: Docs, one: bool) -> Dict[str, Any]:
    if binder.signature is None:
        params: List[Dict[str, Any]] = [{"name": "args", "kind": "var_positional", "schema": {"type": "array"}},
                                        {"name": "kwargs", "kind": "var_keyword", "schema": {"type": "object"}}]
        return {"params": params, "input_schema": _input_schema(params, {p["name"]: p["schema"] for p in params}, Defs())}
    defs = Defs()
    params, properties = [], {}
    for p in binder.parameters:
        described = _param(p, annotations, docs, one)
        params.append(described)
        properties[p.name] = _completed(_given(p, _schema(p.node, defs)), p, described.get("doc", ""))
    return {"params": params, "input_schema": _input_schema(params, properties, defs)}


def _param(parameter: Parameter, annotations: Dict[str, str], docs: Docs, one: bool) -> Dict[str, Any]:
    p = parameter.shape
    described: Dict[str, Any] = {"name": p.name, "kind": _KINDS[p.kind]}
    annotation = annotations.get(p.name) or ("" if one else _shown(p.annotation))
    if annotation:
        described["annotation"] = annotation
    if p.default is not p.empty:
        described["has_default"] = True
        described["default_repr"] = _repr(p.default)
        if _is_json(p.default):
            described["default"] = p.default
    schema = node_schema(parameter.node)
    defs = schema.pop("$defs", None)
    doc = docs.params.get(p.name) or schema.get("description", "")
    if doc:
        described["doc"] = doc
    schema = _completed(_given(parameter, schema), parameter, doc)
    if schema:
        described["schema"] = {**schema, "$defs": defs} if defs else schema
    return described


def _schema(node: Node, defs: Defs) -> Schema:
    try:
        return node.schema(defs)
    except Exception:  # as node_schema
        return {}


def _given(parameter: Parameter, schema: Schema) -> Schema:
    """Of what a caller gives under the parameter's name: a list for *args, an object for **kwargs."""
    p = parameter.shape
    if p.kind is p.VAR_POSITIONAL:
        return {"type": "array", "items": schema} if schema else {"type": "array"}
    if p.kind is p.VAR_KEYWORD and not parameter.whole:
        return {"type": "object", "additionalProperties": schema} if schema else {"type": "object"}
    return dict(schema)


def _completed(schema: Schema, parameter: Parameter, doc: str) -> Schema:
    p = parameter.shape
    if doc:
        schema["description"] = doc
    if p.default is not p.empty and _is_json(p.default):
        schema["default"] = p.default
    return schema


def _input_schema(params: List[Dict[str, Any]], properties: Dict[str, Schema], defs: Defs) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    variable = ("var_positional", "var_keyword")
    required = [p["name"] for p in params if "has_default" not in p and p["kind"] not in variable]
    if required:
        schema["required"] = required
    extra = [p["name"] for p in params if p["kind"] == "var_keyword"]
    schema["additionalProperties"] = properties[extra[0]].get("additionalProperties", True) if extra else False
    if defs.found:
        schema["$defs"] = defs.found
    return schema


def _output(node: Node, docs: Docs) -> Optional[Schema]:
    schema = node_schema(node)
    if schema and docs.returns and "description" not in schema:
        schema["description"] = docs.returns
    return schema


def _shown(annotation: Any) -> str:
    """Of a function whose definition is not in the file."""
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _repr(value: Any) -> str:
    try:
        member = isinstance(value, enum.Enum) and str(value.name).isidentifier()  # of a Flag, it may be several
        text = "%s.%s" % (type(value).__name__, value.name) if member else repr(value)
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
