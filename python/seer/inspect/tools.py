"""Exposed functions as tools of Inspect AI."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from inspect_ai.model import ContentImage, ContentText
from inspect_ai.tool import Tool, ToolDef, ToolError, ToolParams

from ..environment import ServedLibrary

#: Bytes. A larger result stays in the sandbox, and the model gets a description of it.
LARGEST = 1 << 20
_ITEMS = 1000  # of a generator


def tools(service: ServedLibrary) -> list[Tool]:
    """The functions of a served file as tools: ``use_tools(tools(scoped.serve("interface.py")))``.

    The model gets a result as text, an array as nested lists, an image as an image, and what a
    failed function says as a tool's error. Only a service that cannot be reached ends the sample.
    """
    return [_tool(service, function) for function in service.interface["functions"]]


def _tool(service: ServedLibrary, function: dict[str, Any]) -> Tool:
    client = service.module._client  # by name, it would be that of the newest service of this name
    call = getattr(service.module, function["name"])

    async def execute(**arguments: Any) -> Any:
        with client.options(handles_above=LARGEST, output=False):
            try:
                args, named = _bound(function["params"], {k: _given(v) for k, v in arguments.items()})
                if not function.get("stream"):
                    return _answer(client, await call.aio(*args, **named))
                items: list[Any] = []
                async for item in call.aio(*args, **named):
                    items.append(item)
                    if len(items) == _ITEMS:
                        break
                return _answer(client, items)
            except client.Unreachable:
                raise
            except client.SeerError as e:
                raise ToolError(_said(e)) from e

    schema = _resolved(function["input_schema"], function["input_schema"].get("$defs", {}), ())
    for param in function["params"]:  # Inspect wants a description of each
        about = schema["properties"].get(param["name"], {})
        about.setdefault("description", param.get("doc") or param.get("annotation") or param["name"])
    return ToolDef(
        execute, name=function["name"], description=function.get("doc") or function["name"],
        parameters=ToolParams.model_validate({k: schema[k] for k in ("properties", "required", "additionalProperties") if k in schema}),
        parallel=True,
    ).as_tool()


class _Handle:
    """Stands for a value that stayed in the sandbox."""

    def __init__(self, name: str):
        self._name = name

    def __seer_handle__(self) -> dict[str, str]:
        return {"id": self._name}


def _given(value: Any) -> Any:
    """An argument as the library takes it. ``{"handle": "h-…"}`` is the value of that name."""
    if isinstance(value, dict) and list(value) == ["handle"] and isinstance(value["handle"], str):
        return _Handle(value["handle"])
    return value


def _bound(params: list[dict[str, Any]], given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by position and by name. The schema has a property for each parameter, also
    for those that Python gives by position alone."""
    rest = [v for p in params if p["kind"] == "var_positional" for v in given.pop(p["name"], ())]
    args = []
    for param in params:
        if param["kind"] == "positional_only" or rest and param["kind"] == "positional_or_keyword":
            if param["name"] not in given:
                break
            args.append(given.pop(param["name"]))
        elif param["kind"] == "var_keyword":
            given.update(given.pop(param["name"], {}))
    return [*args, *rest], given


def _said(error: Exception) -> str:
    traceback = getattr(error, "remote_traceback", "")
    return f"{error}\n\n{traceback}" if traceback else str(error)


def _answer(client: Any, value: Any) -> Any:
    images: list[ContentImage] = []
    plain = _plain(client, value, images)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return [ContentText(text=text), *images] if images else text


def _plain(client: Any, value: Any, images: list[ContentImage]) -> Any:
    """The value as JSON has it. Images are put aside, and named in their places."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(k): _plain(client, v, images) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(client, v, images) for v in value]
    if isinstance(value, client.Handle):
        return f'{value!r} stayed in the sandbox; as an argument, {{"handle": "{value.id}"}} stands for it'
    if (picture := _image(value)) is not None:
        images.append(picture)
        return f"[image {len(images)}]"
    for method, given in (("records", ()), ("to_dict", ("records",)), ("tolist", ()), ("item", ())):
        if callable(convert := getattr(value, method, None)):
            return _plain(client, convert(*given), images)
    return str(value)


def _image(value: Any) -> Any:
    """An image of Pillow, or what stands in for one, as content of a message."""
    if not hasattr(value, "mode") or not callable(getattr(value, "save", None)):
        return None
    data, kind = getattr(value, "data", None), str(value.format or "png").lower()
    if data is None:
        import io

        written = io.BytesIO()
        value.save(written, kind)
        data = written.getvalue()
    return ContentImage(image=f"data:image/{kind};base64,{base64.b64encode(data).decode()}")


def _resolved(schema: Any, defs: dict[str, Any], inside: tuple[str, ...]) -> Any:
    """The schema without references, which Inspect does not know. A type inside itself is any
    value there."""
    if isinstance(schema, list):
        return [_resolved(s, defs, inside) for s in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        named = {**defs.get(name, {}), **{k: v for k, v in schema.items() if k != "$ref"}}
        return {} if name in inside else _resolved(named, defs, (*inside, name))
    return {k: _resolved(v, defs, inside) for k, v in schema.items() if k != "$defs"}
