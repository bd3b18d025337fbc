// The package's own code. It needs Python 3.8 or later and nothing but the standard library.

export const module: string = `"""Functions that run in a Seer sandbox, as tools of the OpenAI API.

\`tools\` is what the API is given, \`call\` runs what the model has chosen. README.md shows both.
Made by Seer; changes are lost when the interface is served again.
"""
from __future__ import annotations

import json
import pathlib

from ._client import CallError, Library, Unreachable

__all__ = ["CallError", "Unreachable", "call", "run", "tools"]

_here = pathlib.Path(__file__).parent
_library = Library(__file__)
_functions = json.loads((_here / "functions.json").read_text(encoding="utf-8"))
tools = json.loads((_here / "tools.json").read_text(encoding="utf-8"))


def call(name, arguments="{}"):
    """Runs the function behind a tool call and returns JSON text for the model.

    A function that fails, and arguments that do not fit, are told to the model as {"error": …}. That
    the sandbox cannot be reached is no matter of the model's: it is raised.
    """
    try:
        return json.dumps(run(name, arguments), ensure_ascii=False, default=str)
    except (CallError, KeyError, TypeError, ValueError) as e:
        return json.dumps({"error": str(e)}, ensure_ascii=False)


def run(name, arguments="{}"):
    """Runs the function behind a tool call and returns what it gives. arguments: JSON text, or a dict."""
    if name not in _functions:
        raise KeyError("there is no tool %s; there are: %s" % (name, ", ".join(_functions)))
    given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
    if not isinstance(given, dict):
        raise TypeError("the arguments of %s must be a JSON object" % name)
    tool = _functions[name]
    args, kwargs = _bind(tool["params"], given)
    if tool.get("stream"):
        return list(_library.stream(tool["function"], args, kwargs))
    return _library.call(tool["function"], args, kwargs)


def _bind(params, given):
    """What has a name in Python is passed by name, what has none by position."""
    rest = next((given[p["name"]] for p in params if p["kind"] == "var_positional" and p["name"] in given), [])
    if not isinstance(rest, list):
        raise TypeError("further arguments are a list")
    by_position = ("positional_only", "positional_or_keyword") if rest else ("positional_only",)
    leading = [p for p in params if p["kind"] in by_position]
    while leading and not rest and leading[-1]["name"] not in given:
        leading.pop()
    args, kwargs, known = [], {}, set()
    for p in leading:
        if p["name"] not in given and "default" not in p:
            raise TypeError("%s is needed, for arguments after it are passed by position" % p["name"])
        args.append(given.get(p["name"], p.get("default")))
        known.add(p["name"])
    for p in params:
        if p["kind"] == "var_keyword" and p["name"] in given:
            if not isinstance(given[p["name"]], dict):
                raise TypeError("%s is an object" % p["name"])
            kwargs.update(given[p["name"]])
        if p["kind"] in ("var_positional", "var_keyword"):
            known.add(p["name"])
    kwargs.update((k, v) for k, v in given.items() if k not in known)
    return args + rest, kwargs
`;
