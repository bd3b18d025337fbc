"""The client: calls by name, on connections that are kept."""

import base64
import functools
import itertools
import os
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote

from seer_worker.values import decode, value_parts

from .call import Call
from .codec import RETRY_SECONDS, encoded_arguments, read_json
from .endpoint import Cut, Info, NotThere, NoUpgrade, Rejected, read_info
from .errors import SeerError, UnknownCall, error_of
from .framing import Event, strict_json
from .futures import PendingCall, Stream, Threads
from .handle import Handle
from .http_transport import FIRST_PIECE, HTTPTransport, one_request
from .settings import Options, current_options
from .socket_transport import CANCEL_SECONDS, SocketTransport

PATIENCE_SECONDS = 300.0  # to get through again in the middle of a call
_KEPT = 16  # idle connections
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")  # what calls' names are made of


class Client:
    """Calls the functions of one service. Threads may share it.

    A call that is cut goes on once the sandbox can be reached again within patience seconds."""

    def __init__(self, connection_file: "os.PathLike[str] | str", patience: float = PATIENCE_SECONDS) -> None:
        self.file, self.patience = os.fspath(connection_file), patience
        self._hand_over, self._posting = True, False  # as long as it works; whether ordinary calls go by HTTP
        self._carried = False  # whether large ones do
        self._begin()

    def _begin(self) -> None:
        """Names of calls that nobody else gives, and no connections: also after a fork, when they are the parent's."""
        self.process = os.getpid()
        self._prefix = base64.b32encode(os.urandom(10)).decode().lower()
        self._numbers = itertools.count(1)
        self._idle: List[Any] = []
        self._posts: List[Any] = []
        self._done: List[str] = []  # calls whose answers have come; said with the next one
        self.threads = Threads()

    @classmethod
    def beside(cls, module_file: str, name: str = "connection.json") -> "Client":
        """The client of a generated package: Client.beside(__file__). It connects with the first call."""
        return cls(os.path.join(os.path.dirname(os.path.abspath(module_file)), name))

    def call(self, fn: str, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None) -> Any:
        """Calls a function and returns its result. After timeout seconds the call is stopped; None waits for ever."""
        return self.prepare(fn, args, kwargs or {}, self._options(timeout)).value()

    def stream(self, fn: str, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None,
               timeout: Optional[float] = None) -> Stream:
        """Calls a generator; its items come as they are made. Closing the stream cancels the call."""
        return Stream(self.prepare(fn, args, kwargs or {}, self._options(timeout)))

    def handle(self, fn: str, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None) -> Handle:
        """Calls a function whose result stays in the sandbox."""
        return self.prepare(fn, args, kwargs or {}, current_options().but(handles_above=0)).value()  # type: ignore[no-any-return]

    def submit(self, fn: str, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None) -> PendingCall:
        """Makes a call that goes on by itself; returns once the sandbox has it."""
        options = current_options()
        call = self.prepare(fn, args, kwargs or {}, options.but(detach=True))
        call.submit = True
        call.begin()
        call.accepted()
        return PendingCall(self, call.id, fn, options.output)

    def attach(self, call_id: str) -> PendingCall:
        """The call of that name, which any process may have made."""
        if type(call_id) is not str or not 8 <= len(call_id) <= 100 or not _NAME.issuperset(call_id):
            raise UnknownCall("unknown_call", "%r is not the name of a call, as .id of a submitted one is" % (call_id,))
        return PendingCall(self, call_id, "", current_options().output)

    def calls(self, call_id: str = "") -> List[Dict[str, Any]]:
        """What the sandbox knows of the calls that were made with this connection file, or of one (docs/protocol.md: CALL)."""
        status, data = self.request("GET", "calls" + ("?id=" + quote(call_id, safe="") if call_id else ""))
        if status != 200:
            raise self.info().unreachable(Rejected(status, data).message)
        found = read_json(data).get("calls") or []
        return [c for c in found if not call_id or c.get("id") == call_id]

    def cancel(self, call_id: str) -> None:
        """Ends the call of that name. Where the sandbox stays out of reach, it ends by itself when nobody waits for it."""
        try:
            self.request("DELETE", "calls/" + call_id, CANCEL_SECONDS)
        except SeerError:
            pass

    def request(self, method: str, action: str, seconds: Optional[float] = None) -> Any:
        """A request that may be repeated, until it gets through, for at most so many seconds (default: RETRY_SECONDS)."""
        deadline, pause = time.monotonic() + (seconds or RETRY_SECONDS), 0.05
        while True:
            info = self.info()
            try:
                return one_request(info, method, action, seconds)
            except (Cut, NotThere, Rejected) as e:
                if isinstance(e, Rejected) or time.monotonic() + pause > deadline or (info.local and isinstance(e, NotThere)):
                    raise info.unreachable(e) from None
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def close(self) -> None:
        """Closes the kept connections. The client may be used again."""
        for kept in (self._idle, self._posts):
            while kept:
                kept.pop().close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_posts", None) is not None:
            self.close()

    # --- for calls

    def _options(self, timeout: Optional[float]) -> Options:
        options = current_options()
        return options if timeout is None else options.but(timeout=timeout)

    def prepare(self, fn: str, args: Sequence[Any], kwargs: Mapping[str, Any], options: Options) -> Call:
        """A call that has not been sent yet."""
        encoded = encoded_arguments(fn, args, kwargs)
        if os.getpid() != self.process:
            self._forked()
        return Call(self, fn, "%s-%d" % (self._prefix, next(self._numbers)), options, encoded)

    def _forked(self) -> None:
        self.close()  # here, not in the parent
        self._begin()

    def info(self) -> Info:
        """Where the service is now."""
        return read_info(self.file)

    def take(self, call: Call) -> Any:
        """A kept connection that is still good."""
        kept = self._posts if self._posting or self._posts_it(call) else self._idle
        while kept:
            try:
                link = kept.pop()
            except IndexError:  # another thread was faster
                break
            if link.idle():
                return link
            link.close()
        return None

    def keep(self, link: Any) -> None:
        """The connection is good for another call."""
        kept = self._posts if isinstance(link, HTTPTransport) else self._idle
        if len(kept) < _KEPT and os.getpid() == self.process:
            kept.append(link)
        else:
            link.close()

    def _posts_it(self, call: Call) -> bool:
        """Whether a call goes by HTTP in any case. Over a network, HTTP goes on in the middle of a value after a cut."""
        return call.submit or (self._carried and (call.size > FIRST_PIECE or call.begun))

    def connect(self, info: Info, call: Call) -> Any:
        """A new connection."""
        self._carried = info.carried
        post = self._posts_it(call)
        if self._hand_over and (info.local or info.carried) and not post:
            try:
                link = SocketTransport(info)
                self._posting = False
                return link
            except NoUpgrade:
                self._hand_over = False
            except Rejected as e:
                raise e.cause() from None
        self._posting = self._posting or not post
        try:
            return HTTPTransport(info)
        except ValueError as e:
            raise NotThere(str(e)) from None

    def acknowledge(self) -> List[str]:
        """Calls whose answers have come and need not be kept."""
        done, self._done = self._done, []
        return done

    def done(self, call_id: str) -> None:
        """The answer of a call has come."""
        self._done.append(call_id)

    def read(self, event: Event) -> Any:
        """What an item, result or error means: a value, or an exception."""
        if event.kind == "error":
            raise error_of(event.header.get("error"))
        body, tagged = event.body, event.header.get("tagged") is True
        try:
            if not tagged:
                return strict_json(str(body if type(body) is bytes else body[0], "utf-8"))  # type: ignore[arg-type]
            parts = value_parts(body) if type(body) is bytes else body
            return decode(parts, True, self._handle, tensors=current_options().tensors == "torch")
        except (ValueError, RecursionError) as e:
            raise SeerError("the result cannot be read: %s" % e) from None

    def _handle(self, info: Dict[str, Any]) -> Handle:
        return Handle(self, info)

    def __reduce__(self) -> Any:
        return shared_client, (os.path.abspath(self.file), self.patience)


@functools.lru_cache(maxsize=None)
def shared_client(file: str, patience: float) -> Client:
    """The client of what has been pickled."""
    return Client(file, patience)
