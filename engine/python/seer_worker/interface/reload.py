"""Takes an edited interface file over in the living worker, where nothing but functions has changed."""

import ast
import gc
import hashlib
import sys
import types
from typing import Any, Dict, Iterator, List, Tuple

from ..schema.validate import prepare
from ..transport.errors import Script
from . import inject, load
from .changes import Changes, NotSafe, compare

__all__ = ["NotSafe", "reload"]

_Place = Tuple[str, int]  # the name of a function's code, and its first line


def reload(interface: load.Interface, path: str) -> load.Interface:
    """The interface after the edit: the same module, a new registry, new binders. path is the file with the new code.

    The caller runs it in the main thread between calls, and uses the new Interface for every call from then on; calls that
    run in other threads go on with the code they began with. NotSafe if anything but functions has changed;
    load.LoadFailed if the new file cannot be loaded at all: the old one goes on in both cases, and nothing has changed.
    """
    script = interface.script
    code = load.read(path, script.filename)
    source = load.decode(code)
    try:
        compiled = compile(code, script.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as e:
        failure = load.failure(e, Script(script.path, script.filename, source))
        Script(script.path, script.filename, script.source)  # whose lines tracebacks go on showing
        raise failure from None
    new: Any = compile(code, script.path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    changes = compare(ast.parse(script.source), new)
    _not_taken_along(interface.module, [*changes.changed, *changes.removed])
    old_compiled = compile(script.source, script.path, "exec", dont_inherit=True)
    registry, before = inject.Registry(), dict(vars(interface.module))
    try:
        _define(interface.module, registry, changes, new, script)
        _keep(interface, registry, changes, new)
        load.check(registry, script.filename)
        binders = {name: prepare(f, registry.options[name]) for name, f in registry.functions.items()}
    except BaseException as e:
        _undo(vars(interface.module), before)
        if not isinstance(e, Exception):  # from outside
            raise
        raise NotSafe("it cannot be taken over as it is: %s" % e) from e
    finally:
        registry.close()
    _renumber(script.path, old_compiled, compiled, changes)
    fresh = Script(script.path, script.filename, source)
    interface.module.__doc__ = ast.get_docstring(new, clean=False)
    return load.Interface(interface.module, registry, fresh, "sha256:" + hashlib.sha256(code).hexdigest(), binders)


def _undo(namespace: Dict[str, Any], before: Dict[str, Any]) -> None:
    """Name by name: calls in other threads go on using the others."""
    for name in [n for n in namespace if n not in before]:
        del namespace[name]
    namespace.update(before)


def _not_taken_along(module: types.ModuleType, names: List[str]) -> None:
    """A helper that has imported a function from the interface keeps the old one."""
    functions = {id(vars(module)[n]): n for n in names if n in vars(module)}
    for name, other in list(sys.modules.items()):
        if other is None or other is module or not functions:
            continue
        for value in list(getattr(other, "__dict__", {}).values()):
            if id(value) in functions:
                raise NotSafe("%s has changed, and the module %s has imported it" % (functions[id(value)], name))


def _define(module: types.ModuleType, registry: inject.Registry, changes: Changes, new: ast.Module, script: Script) -> None:
    """Runs the new definitions, in the order of the file."""
    wanted = {id(n) for n in (*changes.changed.values(), *changes.imports)}
    future = [n for n in new.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    body = [*future, *(n for n in new.body if id(n) in wanted)]
    namespace = vars(module)
    for name in (*changes.removed, *changes.dropped):
        namespace.pop(name, None)
    namespace["expose"] = registry.expose
    exec(compile(ast.Module(body, []), script.path, "exec", dont_inherit=True), namespace)


def _keep(interface: load.Interface, registry: inject.Registry, changes: Changes, new: ast.Module) -> None:
    """Registers what has not changed, everything in the order of the file."""
    added, options = registry.functions, registry.options
    old = interface.registry
    for name, function in old.functions.items():
        if name in changes.changed or name in changes.removed:
            continue
        added[name], options[name] = function, old.options[name]
    order = {n.name: i for i, n in enumerate(new.body) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for name in sorted(added, key=lambda n: order.get(n, len(order))):
        added[name], options[name] = added.pop(name), options.pop(name)


def _renumber(path: str, old: types.CodeType, new: types.CodeType, changes: Changes) -> None:
    """Gives functions that have not changed their new line numbers, for tracebacks, and their new docstrings."""
    codes: Dict[_Place, types.CodeType] = {}
    _pair(old, new, {*changes.changed, *changes.removed}, codes)
    for function in list(_functions_of(path)):
        code = codes.get((function.__code__.co_name, function.__code__.co_firstlineno))
        if code is None or code.co_freevars != function.__code__.co_freevars or function.__name__ in changes.changed:
            continue
        function.__code__ = code
        if function.__qualname__ in changes.documented:
            function.__doc__ = ast.get_docstring(changes.documented[function.__qualname__], clean=False)


def _functions_of(path: str) -> Iterator[Any]:
    for found in gc.get_objects():
        if type(found) is types.FunctionType and found.__code__.co_filename == path:
            yield found


def _pair(old: types.CodeType, new: types.CodeType, changed: "set[str]", codes: Dict[_Place, types.CodeType]) -> None:
    """Code that has not changed, from old to new: the trees are the same but for what is called as in changed."""
    before, after = _inner(old, changed), _inner(new, changed)
    if [c.co_name for c in before] != [c.co_name for c in after]:
        before = after = []
    for a, b in zip(before, after):
        codes[a.co_name, a.co_firstlineno] = b
        _pair(a, b, set(), codes)


def _inner(code: types.CodeType, but: "set[str]") -> List[types.CodeType]:
    return [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name not in but]
