"""The names that an interface file finds without importing them."""

import inspect
import os
import posixpath
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Union

from ..schema.options import Options, options_of
from ..transport.errors import InterfaceError


class ModelNotConfigured(KeyError):
    """get_model_path was asked for a model that the sandbox does not have."""

    __module__ = "seer"

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


class DatasetNotConfigured(ModelNotConfigured):
    """get_dataset_path was asked for a dataset that the sandbox does not have."""

    __module__ = "seer"


class Models:
    """The models of the sandbox, or its datasets, as docs/protocol.md describes them."""

    _what, _missing = "model", ModelNotConfigured

    def __init__(self, models: Sequence[Mapping[str, Any]] = ()) -> None:
        self._models = [dict(m) for m in models]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._models)

    def set_environment(self) -> None:
        for model in self._models:
            if model.get("env_name"):
                os.environ[model["env_name"]] = model["path"]

    def path(self, name: str) -> str:
        """Where a model is: by its name as configured, its canonical name, or the last part of it if that is unique.

        A hidden one also has the name of its variable.
        """
        for form in (lambda m: [m["name"]], _variables, lambda m: [canonical(m["name"])], _last_parts):
            found: Set[str] = {m["path"] for m in self._models if name in form(m)}
            if len(found) == 1:
                return found.pop()
            if found:
                raise self._missing("%r means more than one %s here; %s" % (name, self._what, self._known()))
        raise self._missing("the %s %r is not configured; %s" % (self._what, name, self._known()))

    def list(self) -> List[Dict[str, Any]]:
        """A fresh list. A hidden model has the name of its variable; what else could tell its own name is left out."""
        return [_public(m) for m in self._models]

    def _known(self) -> str:
        names = [m["name"] for m in self._models if not m.get("hidden")]
        if names:
            return "configured: " + ", ".join(names)
        return "add it to `%ss:` of the experiment" % self._what


class Datasets(Models):
    """The datasets of the sandbox."""

    _what, _missing = "dataset", DatasetNotConfigured


def canonical(name: str) -> str:
    """Without the scheme of its source, ./ and a final slash."""
    scheme, colon, rest = name.partition(":")
    if colon and scheme.isidentifier() or colon and scheme.replace("-", "").isalnum():
        name = rest
    return posixpath.normpath(name)


def _variables(model: Mapping[str, Any]) -> List[str]:
    return [model["var_name"]] if model.get("hidden") and model.get("var_name") else []


def _last_parts(model: Mapping[str, Any]) -> List[str]:
    return [posixpath.basename(canonical(model["name"]))]


def _public(model: Mapping[str, Any]) -> Dict[str, Any]:
    if not model.get("hidden"):
        return {"hidden": False, **model}
    return {"hidden": True, "name": model.get("var_name", ""), "var_name": model.get("var_name", "")}


class Registry:
    """What @expose has marked, in order of definition."""

    def __init__(self) -> None:
        self.functions: Dict[str, Callable[..., Any]] = {}
        self.options: Dict[str, Options] = {}
        self._open = True

    def close(self) -> None:
        self._open = False

    def expose(
        self, function: Optional[Callable[..., Any]] = None, *, concurrent: Union[bool, int] = False, batch: Optional[int] = None,
        batch_wait: Optional[float] = None, timeout: Optional[float] = None, title: str = "", read_only: Optional[bool] = None,
        destructive: Optional[bool] = None, idempotent: Optional[bool] = None, open_world: Optional[bool] = None,
    ) -> Any:
        """Marks a function that may be called from outside. Works as @expose, and with options as @expose(…)."""
        hints = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world}

        def mark(function: Callable[..., Any]) -> Callable[..., Any]:
            name = _exposable(function)
            try:
                self._add(name, function, options_of(function, concurrent, batch, batch_wait, timeout, title, hints))
            except InterfaceError as e:
                e.line = line_of(function)
                raise
            return function

        return mark if function is None else mark(function)

    def _add(self, name: str, function: Callable[..., Any], options: Options) -> None:
        if not self._open:
            raise InterfaceError("@expose on %s came too late: it works only while the file is loaded" % name)
        if name in self.functions:
            raise InterfaceError("%s is exposed twice, in line %s and line %s; rename one of them"
                                 % (name, line_of(self.functions[name]), line_of(function)))
        self.functions[name], self.options[name] = function, options


def _exposable(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if isinstance(function, (staticmethod, classmethod)) or inspect.isclass(function) or not callable(function):
        what = name or type(function).__name__
        raise InterfaceError("@expose is for functions, and %s is none" % what)
    if not name.isidentifier():
        raise InterfaceError("@expose needs a function with a name: write it with def")
    qualname = getattr(function, "__qualname__", name)
    outer = qualname.rpartition(".")[0]
    if outer and not outer.endswith("<locals>"):
        raise InterfaceError("@expose is for functions of the module, and %s is a method; expose a function that calls it" % qualname)
    return name


def line_of(function: Callable[..., Any]) -> int:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code else 0


def names(registry: Registry, models: Models, datasets: Datasets) -> Dict[str, Any]:
    """Exactly what is put into the namespace of the file."""

    def get_model_path(name: str) -> str:
        """Where a configured model is."""
        return models.path(name)

    def list_configured_models() -> List[Dict[str, Any]]:
        """All configured models."""
        return models.list()

    def get_dataset_path(name: str) -> str:
        """Where a configured dataset is."""
        return datasets.path(name)

    return {"expose": registry.expose, "get_model_path": get_model_path, "get_dataset_path": get_dataset_path,
            "list_configured_models": list_configured_models}
