"""The messages of the engine, generated from engine/rpc/schema.json. Only for type checkers.

``go test ./engine/rpc -update`` writes this file anew.
"""

from __future__ import annotations

from typing import Any, Callable, Coroutine, Literal, Optional, Protocol, TypedDict, overload

from typing_extensions import NotRequired

Event = Callable[[dict[str, Any], str], None]


class AcknowledgeParams(TypedDict):
    lines: int
    stream: str


class AgentParams(TypedDict):
    agent: dict[str, Any]
    base: NotRequired[str]
    dir: str
    env: NotRequired[dict[str, str]]
    mcp_servers: NotRequired[dict[str, dict[str, Any]]]
    name: NotRequired[str]
    runs: NotRequired[str]
    stream: NotRequired[str]


class AgentResult(TypedDict):
    exit_code: int
    folder: NotRequired[str]
    model_usd: float
    reason: NotRequired[str]


class CancelParams(TypedDict):
    request: str


class DatasetInfo(TypedDict):
    env_name: str
    files: NotRequired[Optional[list[ModelFile]]]
    gate: NotRequired[str]
    license: NotRequired[str]
    manifest: NotRequired[str]
    name: str
    path: str
    ref: NotRequired[str]
    repo: NotRequired[str]
    revision: str
    source: str


class DetachParams(TypedDict):
    sandbox: str
    seconds: float


class Endpoint(TypedDict):
    port: int
    url: str


class ErrorData(TypedDict):
    kind: str
    problems: NotRequired[Optional[list[Problem]]]
    remedies: NotRequired[Optional[list[Remedy]]]


class ExecParams(TypedDict):
    argv: NotRequired[Optional[list[str]]]
    cwd: NotRequired[str]
    env: NotRequired[dict[str, str]]
    limit: NotRequired[int]
    python: NotRequired[str]
    sandbox: str
    seconds: NotRequired[float]
    shell: NotRequired[str]
    stdin: NotRequired[Optional[str]]


class ExecResult(TypedDict):
    exit_code: int
    stderr: Optional[str]
    stdout: Optional[str]
    timed_out: bool
    truncated: bool


class FileParams(TypedDict):
    content: NotRequired[Optional[str]]
    local: NotRequired[str]
    mode: NotRequired[int]
    path: str
    sandbox: str


class FileResult(TypedDict):
    content: Optional[str]


class ForkParams(TypedDict):
    copies: int
    name: NotRequired[str]
    sandbox: str


class GPUUse(TypedDict):
    gpu_seconds: float
    memory_bytes: int
    memory_peak_bytes: int


class Handle(TypedDict):
    code_server_base: NotRequired[str]
    code_server_password: NotRequired[str]
    code_server_port: NotRequired[int]
    code_server_url: NotRequired[str]
    config: Any
    jupyter_base: NotRequired[str]
    jupyter_port: NotRequired[int]
    jupyter_token: NotRequired[str]
    jupyter_url: NotRequired[str]
    sandbox_id: str
    status: str


class Info(TypedDict):
    budget: NotRequired[float]
    builds: NotRequired[str]
    cost: float
    cost_per_hour: float
    created: str
    datasets: Optional[list[DatasetInfo]]
    ended: NotRequired[Optional[str]]
    endpoints: Optional[list[Endpoint]]
    environment: NotRequired[Handle]
    execution_mode: NotRequired[str]
    experiment: NotRequired[str]
    gpu: NotRequired[str]
    gpu_count: NotRequired[int]
    gpu_share: NotRequired[str]
    gpu_use: NotRequired[GPUUse]
    gpu_users: NotRequired[Optional[list[str]]]
    id: str
    isolation: NotRequired[str]
    lease: Lease
    message: NotRequired[str]
    models: Optional[list[ModelInfo]]
    name: NotRequired[str]
    network: NotRequired[str]
    provider: str
    region: NotRequired[str]
    services: Optional[list[ServiceInfo]]
    state: str


class InitializeParams(TypedDict):
    client: NotRequired[str]
    protocol: int


class InitializeResult(TypedDict):
    protocol: int
    version: str


class Lease(TypedDict):
    ends: str
    hard_end: str
    idle_seconds: int
    kind: str
    overdue: bool


class Library(TypedDict):
    code: NotRequired[str]
    docs: NotRequired[str]
    name: NotRequired[str]
    path: NotRequired[str]
    source: NotRequired[str]


class ListResult(TypedDict):
    sandboxes: Optional[list[Info]]


class LoadParams(TypedDict):
    file: str


class LoadResult(TypedDict):
    experiment: Any


class ModelFile(TypedDict):
    git_sha1: NotRequired[str]
    path: str
    sha256: NotRequired[str]
    size: int


class ModelInfo(TypedDict):
    base_model: NotRequired[str]
    env_name: str
    files: NotRequired[Optional[list[ModelFile]]]
    gate: NotRequired[str]
    hidden: bool
    is_peft: bool
    license: NotRequired[str]
    manifest: NotRequired[str]
    name: str
    path: str
    ref: NotRequired[str]
    repo: NotRequired[str]
    revision: str
    source: str
    var_name: str


class Nothing(TypedDict):
    pass


class Opened(TypedDict):
    env: NotRequired[dict[str, str]]
    jupyter_url: NotRequired[str]
    key_file: NotRequired[str]
    kind: str
    mcp_servers: NotRequired[dict[str, dict[str, Any]]]
    name: str
    prompt: str


class Problem(TypedDict):
    file: NotRequired[str]
    hint: NotRequired[str]
    line: NotRequired[int]
    message: str
    path: str


class Progress(TypedDict):
    event: dict[str, Any]
    kind: str
    request: str
    text: str


class Ref(TypedDict):
    sandbox: str


class Remedy(TypedDict):
    action: str
    field: NotRequired[str]
    folder: NotRequired[str]
    hash: NotRequired[str]
    plugin: NotRequired[str]
    port: NotRequired[str]
    sandbox: NotRequired[str]
    signer: NotRequired[str]
    snapshot: NotRequired[str]


class SaveParams(TypedDict):
    description: NotRequired[str]
    memory: NotRequired[bool]
    name: str
    sandbox: str


class SaveResult(TypedDict):
    id: str
    name: str


class ServeParams(TypedDict):
    expose_as: NotRequired[str]
    file: str
    name: NotRequired[str]
    options: NotRequired[dict[str, Any]]
    out: str
    sandbox: str


class ServeResult(TypedDict):
    env: NotRequired[dict[str, str]]
    files: Optional[list[str]]
    functions: Optional[list[str]]
    interface: Any
    mcp_servers: NotRequired[dict[str, dict[str, Any]]]
    prompt: str
    service: str


class ServiceInfo(TypedDict):
    file: str
    functions: Optional[list[str]]
    name: str
    state: NotRequired[str]


class SessionParams(TypedDict):
    dir: NotRequired[str]
    kind: NotRequired[str]
    name: NotRequired[str]
    sandbox: NotRequired[str]
    workspace: Workspace


class SessionRef(TypedDict):
    name: str
    sandbox: str


class StartParams(TypedDict):
    dir: str
    experiment: NotRequired[Any]
    file: NotRequired[str]
    max_wait: NotRequired[float]
    name: NotRequired[str]
    snapshot: NotRequired[str]


class Workspace(TypedDict):
    dirs: NotRequired[Optional[list[str]]]
    files: NotRequired[Optional[list[str]]]
    hidden_model_loading: NotRequired[Optional[bool]]
    init: NotRequired[str]
    libraries: NotRequired[Optional[list[Library]]]
    preload_models: NotRequired[Optional[bool]]
    skill_dirs: NotRequired[Optional[list[str]]]
    skills: NotRequired[Optional[list[str]]]


class Calls(Protocol):
    """Makes a request, and returns its result. ``event`` hears what happens meanwhile."""

    @overload
    def __call__(
        self, method: Literal["agent.acknowledge"], params: AcknowledgeParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["agent.run"], params: AgentParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, AgentResult]: ...

    @overload
    def __call__(
        self, method: Literal["cancel"], params: CancelParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["experiment.load"], params: LoadParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, LoadResult]: ...

    @overload
    def __call__(
        self, method: Literal["initialize"], params: InitializeParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, InitializeResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.detach"], params: DetachParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.download"], params: FileParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.exec"], params: ExecParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, ExecResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.fork"], params: ForkParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, ListResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.list"], params: Optional[Nothing] = None, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, ListResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.mkdir"], params: FileParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.open"], params: Ref, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Info]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.read"], params: FileParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, FileResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.save"], params: SaveParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, SaveResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.serve"], params: ServeParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, ServeResult]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.start"], params: StartParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Info]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.terminate"], params: Ref, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.upload"], params: FileParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["sandbox.write"], params: FileParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["session.end"], params: SessionRef, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Nothing]: ...

    @overload
    def __call__(
        self, method: Literal["session.new"], params: SessionParams, event: Optional[Event] = None
    ) -> Coroutine[Any, Any, Opened]: ...
