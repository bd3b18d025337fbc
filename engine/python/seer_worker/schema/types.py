"""What an annotation means: each kind of type knows its JSON Schema, and how to check and convert a value."""

import json
from typing import Any, Callable, Dict, FrozenSet, List, Optional

Schema = Dict[str, Any]
_LONGEST = 60
# How somebody who writes JSON names a value that stayed in the sandbox.
HANDLE: Schema = {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]}


class Misfit(Exception):
    """A value, or the part of it at path, is not what its annotation says."""

    def __init__(self, expected: str, value: Any, note: str = "") -> None:
        super().__init__(expected)
        self.expected, self.value, self.note = expected, value, note
        self.path: List[str] = []

    def at(self, root: str) -> str:
        return "%s%s must be %s, and is %s%s" % (root, "".join(self.path), self.expected, shown(self.value), self.note)


def shown(value: Any) -> str:
    """A value in an error: short, and with its type where that is not plain."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return "%s (str)" % json.dumps(value if len(value) <= _LONGEST else value[:_LONGEST] + "…", ensure_ascii=False)
    if isinstance(value, (int, float)):
        return "%s (%s)" % (_short(value), type(value).__name__)
    if isinstance(value, (list, tuple)) and len(value) <= 4 and all(isinstance(v, (int, float, str, type(None))) for v in value):
        return "%s (%s)" % (_short(value), type(value).__name__)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return "%s of %s, shape %s" % (an(type(value).__name__), getattr(value, "dtype", "?"), shape)
    return an(type(value).__name__)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # an int of too many digits, or a class of the user's own
        return "…"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def an(name: str) -> str:
    return ("an " if name[:1] in "aeiouAEIOU" else "a ") + name


def plain_scalar(value: Any) -> Any:
    """The Python number of a NumPy scalar or a 0-dimensional array or tensor; everything else as it is."""
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()
    return value


class Defs:
    """The $defs of a schema: types that contain themselves."""

    def __init__(self) -> None:
        self.found: Dict[str, Schema] = {}
        self._names: Dict[int, str] = {}
        self._open: List[int] = []
        self._looped: List[int] = []

    def named(self, node: "Node", name: str, make: Callable[[], Schema]) -> Schema:
        """What make gives, or a reference to it where node is inside itself."""
        key = id(node)
        if key in self._open:
            self._looped.append(key)
            return self._reference(key, name)
        if self._names.get(key) in self.found:
            return self._reference(key, name)
        self._open.append(key)
        schema = make()
        self._open.pop()
        if key not in self._looped:
            return schema
        reference = self._reference(key, name)
        self.found[self._names[key]] = schema
        return reference

    def _reference(self, key: int, name: str) -> Schema:
        if key not in self._names:
            self._names[key] = self.free(name)
        return {"$ref": "#/$defs/" + self._names[key]}

    def free(self, name: str) -> str:
        """A name that no other type has."""
        taken, number, free = {*self._names.values(), *self.found}, 2, name
        while free in taken:
            free, number = "%s_%d" % (name, number), number + 1
        return free


class Node:
    """Anything at all; the base of all others."""

    expects = "anything"
    exact: FrozenSet[type] = frozenset()  # values of exactly these types fit as they are
    natural: FrozenSet[type] = frozenset()  # values of these types are tried first by a union
    tensors = False  # somewhere in it is a torch tensor

    def schema(self, defs: Defs) -> Schema:
        return {}

    def convert(self, value: Any) -> Any:
        return value

    def take_shape(self, shape: str) -> None:
        """A comment names the shape of the array that this is, if it is one."""

    @property
    def anything(self) -> bool:
        return type(self) is Node


ANYTHING = Node()


class Simple(Node):
    """int, float, str, bool and None."""

    def __init__(self, kind: str, expects: str, exact: FrozenSet[type], accept: Optional[Callable[[Any], Any]] = None) -> None:
        self._kind, self.expects, self.exact, self.natural, self._accept = kind, expects, exact, exact, accept

    def schema(self, defs: Defs) -> Schema:
        return {"type": self._kind}

    def convert(self, value: Any) -> Any:
        if type(value) in self.exact:
            return value
        value = plain_scalar(value)
        if self._accept is None:
            if type(value) in self.exact:
                return value
            raise Misfit(self.expects, value)
        return self._accept(value)


def _int(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise Misfit("an int", value)


def _float(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise Misfit("a float", value)


def _str(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise Misfit("a str", value)


INT = Simple("integer", "an int", frozenset([int]), _int)
FLOAT = Simple("number", "a float", frozenset([float, int]), _float)
STR = Simple("string", "a str", frozenset([str]), _str)
BOOL = Simple("boolean", "a bool", frozenset([bool]))
NONE = Simple("null", "None", frozenset([type(None)]))


class Union(Node):
    """One of several; the first that takes the value, those of its own type before the others."""

    def __init__(self, options: List[Node]) -> None:
        self._options = options
        self.exact = frozenset().union(*(o.exact for o in options))
        self.natural = frozenset().union(*(o.natural for o in options))
        self.tensors = any(o.tensors for o in options)
        self.expects = _either(list(dict.fromkeys(o.expects for o in options)))

    def schema(self, defs: Defs) -> Schema:
        schemas: List[Schema] = []
        for option in self._options:
            schema = option.schema(defs)
            for part in schema["anyOf"] if set(schema) == {"anyOf"} else [schema]:
                if part not in schemas:
                    schemas.append(part)
        return {} if {} in schemas else schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def convert(self, value: Any) -> Any:
        if type(value) in self.exact:
            return value
        deepest: Optional[Misfit] = None
        for option in sorted(self._options, key=lambda o: type(value) not in o.natural):
            try:
                return option.convert(value)
            except Misfit as e:
                if deepest is None or len(e.path) > len(deepest.path):
                    deepest = e
        if deepest is not None and deepest.path:
            raise deepest
        raise Misfit(self.expects, value, deepest.note if deepest else "")

    def take_shape(self, shape: str) -> None:
        for option in self._options:
            option.take_shape(shape)


def _either(parts: List[str]) -> str:
    return parts[0] if len(parts) == 1 else "%s or %s" % (", ".join(parts[:-1]), parts[-1])


class Named(Node):
    """A type known by its name before it is made, for it may contain itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.target: Node = ANYTHING
        self.expects = name

    def set(self, target: Node) -> None:
        self.target = target
        self.expects, self.exact, self.natural, self.tensors = target.expects, target.exact, target.natural, target.tensors

    @property
    def anything(self) -> bool:
        return self.target.anything

    def schema(self, defs: Defs) -> Schema:
        return defs.named(self, self._name, lambda: self.target.schema(defs))

    def convert(self, value: Any) -> Any:
        return self.target.convert(value)
