# The types of ScopedSandbox.serve: what it returns depends on its mode.
from pathlib import Path
from typing import Any, Awaitable, Callable, Coroutine, Literal, Optional, Union, overload

from . import ServedLibrary

File = Union[str, Path]
Options = Optional[dict[str, Any]]

class Serve:
    @overload
    def __call__(
        self, file: File, expose_as: Literal["library"] = "library", name: Optional[str] = None, options: Options = None
    ) -> ServedLibrary: ...
    @overload
    def __call__(self, file: File, expose_as: Literal["mcp"], name: Optional[str] = None, options: Options = None) -> dict[str, Any]: ...
    @overload
    def __call__(self, file: File, expose_as: Literal["prompt"], name: Optional[str] = None, options: Options = None) -> str: ...
    @overload
    def __call__(self, file: File, expose_as: str, name: Optional[str] = None, options: Options = None) -> Any: ...
    @overload
    def __call__(self, *, file_path: File, expose_as: str = "library", name: Optional[str] = None, options: Options = None) -> Any: ...
    @overload
    def aio(
        self, file: File, expose_as: Literal["library"] = "library", name: Optional[str] = None, options: Options = None
    ) -> Awaitable[ServedLibrary]: ...
    @overload
    def aio(
        self, file: File, expose_as: Literal["mcp"], name: Optional[str] = None, options: Options = None
    ) -> Awaitable[dict[str, Any]]: ...
    @overload
    def aio(self, file: File, expose_as: Literal["prompt"], name: Optional[str] = None, options: Options = None) -> Awaitable[str]: ...
    @overload
    def aio(self, file: File, expose_as: str, name: Optional[str] = None, options: Options = None) -> Awaitable[Any]: ...
    @overload
    def aio(
        self, *, file_path: File, expose_as: str = "library", name: Optional[str] = None, options: Options = None
    ) -> Awaitable[Any]: ...

class serving:
    def __init__(self, work: Callable[..., Coroutine[Any, Any, Any]]) -> None: ...
    def __get__(self, of: Any, owner: Optional[type] = None) -> Serve: ...
