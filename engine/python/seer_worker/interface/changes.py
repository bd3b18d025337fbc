"""What an edit of an interface file has changed, and whether the running module can take it over."""

import ast
import copy
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Union

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Import = Union[ast.Import, ast.ImportFrom]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What finds a function without naming it.
_DYNAMIC = {"globals", "locals", "vars", "eval", "exec", "__import__"}
_PURE_CALLS = {"float", "int", "str", "bool", "tuple", "list", "dict", "set", "frozenset", "object", "range", "Path"}
# Whose decorators only wrap.
_HARMLESS = {"functools", "contextlib", "typing", "typing_extensions", "torch", "numpy", "numba", "jax"}


class NotSafe(Exception):
    """The file has to be loaded anew; str() says why, with the line. Nothing has changed."""


class Parts:
    """A module taken apart: functions, imports, and all else that runs while it is loaded."""

    def __init__(self, tree: ast.Module) -> None:
        self.doc = ast.get_docstring(tree, clean=False)
        self.functions: Dict[str, Function] = {}
        self.imports: Dict[str, Import] = {}
        self.statements: List[ast.stmt] = []
        self.future: List[ast.stmt] = []
        self.twice: Dict[str, int] = {}  # functions that are defined more than once, with the line
        for node in tree.body:
            self._take(node)
        bound = {name for s in self.statements for name in _bound(s)} | {n for i in self.imports.values() for n in _names_of(i)}
        self.twice.update({name: f.lineno for name, f in self.functions.items() if name in bound})

    def _take(self, node: ast.stmt) -> None:
        if isinstance(node, _FUNCTIONS):
            if node.name in self.functions:
                self.twice[node.name] = node.lineno
            self.functions[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self.future.append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and "*" not in _names_of(node):
            self.imports[ast.dump(node)] = node
        elif not _never_runs(node):
            self.statements.append(node)


class Changes(NamedTuple):
    """What has to be done. Definitions and imports are in the order of the new file."""

    changed: Dict[str, Function]  # changed and new
    removed: List[str]
    documented: Dict[str, Function]  # only their docstrings have changed
    imports: List[Import]  # new ones
    dropped: List[str]  # names of imports that are gone
    counted: int  # of the functions that were there before


def compare(old: ast.Module, new: ast.Module) -> Changes:
    """NotSafe if the edit reaches what has run while the file was loaded."""
    before, after = Parts(old), Parts(new)
    if [ast.dump(n) for n in before.future] != [ast.dump(n) for n in after.future]:
        raise NotSafe("from __future__ import has changed")
    _same_statements(before.statements, after.statements)
    differing = {n: f for n, f in after.functions.items() if n not in before.functions or ast.dump(f) != ast.dump(before.functions[n])}
    documented = {n: f for n, f in differing.items() if n in before.functions and _undocumented(f) == _undocumented(before.functions[n])}
    removed = [n for n in before.functions if n not in after.functions]
    imports = [node for key, node in after.imports.items() if key not in before.imports]
    gone = {n for key, node in before.imports.items() if key not in after.imports for n in _names_of(node)}
    kept = {n for node in after.imports.values() for n in _names_of(node)}
    changed = {n: f for n, f in differing.items() if n not in documented}
    names = {*changed, *removed, *gone, *(n for node in imports for n in _names_of(node))}
    _not_twice(before, after, names)
    _not_reached(before, after, names)
    for name, function in changed.items():
        _runs_nothing(name, function, after)
    return Changes(changed, removed, documented, imports, sorted(gone - kept - set(after.functions)), len(before.functions))


def _same_statements(old: List[ast.stmt], new: List[ast.stmt]) -> None:
    for before, after in zip(old, new):
        if ast.dump(before) != ast.dump(after):
            if isinstance(after, ast.ClassDef):
                raise NotSafe("class %s has changed (line %d)" % (after.name, after.lineno))
            raise NotSafe("line %d runs while the file is loaded, and has changed" % after.lineno)
    if len(new) > len(old):
        raise NotSafe("line %d runs while the file is loaded, and is new" % new[len(old)].lineno)
    if len(old) > len(new):
        raise NotSafe("line %d of the old file ran while it was loaded, and is gone" % old[len(new)].lineno)


def _not_twice(before: Parts, after: Parts, names: Set[str]) -> None:
    for name in sorted(names):
        line = after.twice.get(name) or before.twice.get(name)
        if line:
            raise NotSafe("%s has changed, and is not only defined in line %d" % (name, line))


def _not_reached(before: Parts, after: Parts, names: Set[str]) -> None:
    """Follows names from what runs at the top, through functions old and new."""
    if not names:
        return
    queue: List[tuple[str, int]] = []
    for parts in (before, after):
        for node in parts.statements:
            queue += [(n, node.lineno) for n in _used(node)]
        for function in parts.functions.values():
            queue += [(n, function.lineno) for part in _at_definition(function) for n in _used(part)]
    seen: Set[str] = set()
    while queue:
        name, line = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in _DYNAMIC:
            raise NotSafe("line %d runs while the file is loaded and uses %s(), which may find any function" % (line, name))
        if name in names:
            raise NotSafe("%s has changed, and was used while the file was loaded (line %d)" % (name, line))
        for parts in (before, after):
            if name in parts.functions:
                queue += [(n, line) for n in _used(parts.functions[name])]


def _at_definition(function: Function) -> Iterator[ast.AST]:
    """What runs when a function is defined."""
    yield from function.decorator_list
    yield from function.args.defaults
    yield from (d for d in function.args.kw_defaults if d is not None)
    yield from _annotations(function)


def _annotations(function: Function) -> Iterator[ast.AST]:
    a = function.args
    for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
        if arg is not None and arg.annotation is not None:
            yield arg.annotation
    if function.returns is not None:
        yield function.returns


def _runs_nothing(name: str, function: Function, after: Parts) -> None:
    """The definition is run again: its defaults must not load a model, nor its decorators count or register it."""
    for default in (*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)):
        for call in ast.walk(default):
            if isinstance(call, ast.Call) and _callee(call.func) not in _PURE_CALLS:
                raise NotSafe("%s has changed, and a default calls %s (line %d)" % (name, _callee(call.func) or "something", call.lineno))
    for decorator in function.decorator_list:
        _decorates(name, decorator, after)
    for part in _annotations(function):
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and _callee(call.func) in after.functions:
                raise NotSafe("%s has changed, and an annotation calls %s (line %d)" % (name, _callee(call.func), call.lineno))


def _decorates(name: str, decorator: ast.expr, after: Parts) -> None:
    root: ast.AST = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(root, ast.Attribute):
        root = root.value
    word = root.id if isinstance(root, ast.Name) else "?"
    own = after.functions.get(word)
    packages = {_package(node) for node in after.imports.values() if word in _names_of(node)}
    if word != "expose" and not (_only_wraps(own) if own is not None else packages and packages <= _HARMLESS):
        raise NotSafe("%s has changed, and its decorator %s may do more than wrap it (line %d)" % (name, word, decorator.lineno))


def _package(node: Import) -> str:
    name = node.names[0].name if isinstance(node, ast.Import) else node.module if not node.level and node.module else ""
    return name.partition(".")[0]


def _callee(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _only_wraps(decorator: Function) -> bool:
    """def decorator(f): def wrapper(…): …; return wrapper"""
    return all(isinstance(s, (*_FUNCTIONS, ast.Return)) or _is_text(s) for s in decorator.body) and \
        all(_only_wraps(s) for s in decorator.body if isinstance(s, _FUNCTIONS) and any(isinstance(x, _FUNCTIONS) for x in s.body))


def _is_text(node: Optional[ast.stmt]) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _undocumented(function: Function) -> str:
    if not _is_text(function.body[0]):
        return ast.dump(function)
    bare = copy.copy(function)
    bare.body = function.body[1:]
    return ast.dump(bare)


def _never_runs(node: ast.stmt) -> bool:
    """A text on its own, and if __name__ == "__main__"."""
    if isinstance(node, ast.If) and not node.orelse and isinstance(node.test, ast.Compare):
        return [type(o) for o in node.test.ops] == [ast.Eq] and isinstance(node.test.left, ast.Name) and node.test.left.id == "__name__" \
            and isinstance(node.test.comparators[0], ast.Constant) and node.test.comparators[0].value == "__main__"
    return _is_text(node) or isinstance(node, ast.Pass)


def _names_of(node: Import) -> List[str]:
    return [a.asname or (a.name.partition(".")[0] if isinstance(node, ast.Import) else a.name) for a in node.names]


def _bound(node: ast.AST) -> Iterator[str]:
    """Every name that it may bind in the module."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.id
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _names_of(node)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def _used(node: ast.AST) -> Set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
