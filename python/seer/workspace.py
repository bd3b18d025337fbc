"""The workspace of an agent: libraries, skills and files.

    workspace = Workspace(
        libraries=[Library.from_file("helpers.py"), scoped.serve("interface.py")],
        skills=["skills/probing"],
        files=["data.csv"],
    )

Relative paths begin in the working folder of this program. Everything is read when a session is
created: see ``seer.execution``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from ._fields import PathLike, checked
from .errors import ConfigError, Problem

if TYPE_CHECKING:
    from ._engine import wire

__all__ = ["Library", "Skill", "Workspace"]


class Library:
    """A module that an agent imports.

    ``Library(path)`` is a Python file, a package folder, or a skill folder with code. ``docs``
    describes it in the agent's prompt; the default is the documentation in the code.
    """

    _served = ""  # by which sandbox

    def __init__(self, path: PathLike, name: Optional[str] = None, docs: Optional[str] = None):
        """``name`` is the name of the module; the default is that of the path."""
        self._source: Literal["", "file", "directory", "skill", "code"] = ""
        self._path, self._code, self._docs = os.fspath(path), "", docs
        self.name = name  #: of the module, where it is not that of the path
        if name and path:
            self._source = "directory" if os.path.isdir(path) else "file"

    @classmethod
    def from_file(cls, path: PathLike, name: Optional[str] = None, docs: Optional[str] = None) -> Library:
        """The module of a Python file."""
        return cls._from("file", path, name, docs)

    @classmethod
    def from_directory(cls, path: PathLike, name: Optional[str] = None, docs: Optional[str] = None) -> Library:
        """A package: a folder with ``__init__.py``."""
        return cls._from("directory", path, name, docs)

    @classmethod
    def from_skill_dir(cls, path: PathLike, docs: Optional[str] = None) -> Library:
        """The code of a skill: its ``code.py``, or the Python files of its ``scripts``. The text of
        ``SKILL.md`` describes it in the agent's prompt."""
        return cls._from("skill", path, None, docs)

    @classmethod
    def from_code(cls, name: str, code: str, docs: Optional[str] = None) -> Library:
        """A module of this code."""
        made = cls._from("code", "", name, docs)
        made._code = code
        return made

    @classmethod
    def _from(cls, source: Any, path: PathLike, name: Optional[str], docs: Optional[str]) -> Library:
        made = Library(path, name, docs)
        made._source = source
        return made

    def _wire(self) -> wire.Library:
        path = os.path.abspath(self._path) if self._path else ""
        return {"source": self._source, "path": path, "name": self.name or "", "code": self._code, "docs": self._docs or ""}

    def __repr__(self) -> str:
        return f"<Library {self.name or self._path}>"

    def _repr_html_(self) -> str:
        from ._engine import html

        return html.table(("Library", self.name or os.path.basename(self._path)), ("Path", self._path), ("Code", self._code))


@dataclass(frozen=True)
class Skill:
    """A skill of agents (agentskills.io): a folder with a ``SKILL.md``.

    A session puts it where agents' programs look for skills.
    """

    path: PathLike

    @classmethod
    def from_dir(cls, path: PathLike) -> Skill:
        """The skill of a folder."""
        return cls(path)


@checked
@dataclass
class Workspace:
    """The contents of a session. The engine checks it, and a ConfigError lists all mistakes.

    Libraries and files are in the folder where the agent works: in that of the sandbox of a
    notebook or shell, or in ``workspace_dir`` of a local session. Skills are always there.
    """

    libraries: list[Union[Library, PathLike]] = field(default_factory=list)
    skills: list[Union[Skill, PathLike]] = field(default_factory=list)
    skill_dirs: list[PathLike] = field(default_factory=list)  #: folders of skill folders
    files: list[PathLike] = field(default_factory=list)  #: files and folders
    dirs: list[PathLike] = field(default_factory=list)  #: folders
    init: Optional[str] = None  #: Python that each kernel or interpreter runs first
    preload_models: bool = True  #: load the models of the sandbox
    hidden_model_loading: bool = True  #: no cell of a notebook shows how

    def _repr_html_(self) -> str:
        from ._engine import html

        names = ("libraries", "skills", "skill_dirs", "files", "dirs", "init")
        shown = [(name, getattr(self, name)) for name in names]
        return html.table(*((name, [*value] if isinstance(value, (list, tuple)) else value) for name, value in shown))

    def _wire(self, local: bool) -> wire.Workspace:
        """The message for the engine, of a session with or without a sandbox."""
        found = _Found()
        libraries: list[wire.Library] = []
        for where, item in found.items("libraries", self.libraries):
            library = item if isinstance(item, Library) else Library(item) if isinstance(item, (str, os.PathLike)) else None
            if library is None:
                found.wrong(where, item, "a Library or a path")
            elif library._served and not local:
                found.problems.append(Problem(
                    where, f"the library {library.name} calls the sandbox {library._served}, which another sandbox cannot reach",
                    "use it in a session of create_local_session",
                ))
            else:
                libraries.append(library._wire())
        skills = [s.path if isinstance(s, Skill) else s for s in self.skills] if isinstance(self.skills, (list, tuple)) else self.skills
        made: wire.Workspace = {
            "libraries": libraries, "skills": found.paths("skills", skills), "skill_dirs": found.paths("skill_dirs", self.skill_dirs),
            "files": found.paths("files", self.files), "dirs": found.paths("dirs", self.dirs), "init": found.text("init", self.init),
            "preload_models": bool(self.preload_models), "hidden_model_loading": bool(self.hidden_model_loading),
        }
        if found.problems:
            raise ConfigError("", found.problems)
        return made


class _Found:
    """The mistakes in a workspace."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, where: str, value: Any, want: str) -> None:
        self.problems.append(Problem(where, f"must be {want}, not {type(value).__name__}"))

    def items(self, name: str, value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, (list, tuple)):
            self.wrong(f"Workspace.{name}", value, "a list")
            return []
        return [(f"Workspace.{name}[{i}]", item) for i, item in enumerate(value)]

    def paths(self, name: str, value: Any) -> list[str]:
        made = []
        for where, item in self.items(name, value):
            if isinstance(item, (str, os.PathLike)):
                made.append(os.path.abspath(os.fspath(item)))
            else:
                self.wrong(where, item, "a path")
        return made

    def text(self, name: str, value: Any) -> str:
        if value is not None and not isinstance(value, str):
            self.wrong(f"Workspace.{name}", value, "a text")
        return value or ""
