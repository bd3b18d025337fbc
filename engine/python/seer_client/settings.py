"""How calls are made: options that hold in a block, for this thread or task only."""

import contextvars
import json
from typing import Any, Callable, Dict, List, Optional, Union

Output = Union[bool, Callable[[int, str], object]]


class Options:
    """A way to make calls. It never changes."""

    __slots__ = ("detach", "handles_above", "head", "output", "tensors", "timeout")

    def __init__(self, timeout: Optional[float] = None, handles_above: Optional[int] = None, output: Output = True,
                 detach: bool = False, tensors: str = "torch") -> None:
        if timeout is not None and not 0 < timeout < 1e9:
            raise ValueError("timeout must be a number of seconds above 0, or None")
        if handles_above is not None and (handles_above < 0 or handles_above != int(handles_above)):
            raise ValueError("handles_above must be a whole number of bytes, or None")
        if tensors not in ("torch", "numpy"):
            raise ValueError("tensors must be \"torch\" or \"numpy\"")
        self.timeout, self.handles_above, self.output, self.detach, self.tensors = timeout, handles_above, output, detach, tensors
        self.head = json.dumps(self.fields(), separators=(",", ":")).encode("ascii")[1:-1]  # for the header of a frame

    def fields(self) -> Dict[str, Any]:
        """OPTIONS of docs/protocol.md, section 3."""
        fields = {"timeout": self.timeout, "handle_above": self.handles_above, "output": bool(self.output) or None,
                  "detach": self.detach or None}
        return {name: value for name, value in fields.items() if value is not None}

    def but(self, **changes: Any) -> "Options":
        """The same with changes."""
        same = {"timeout": self.timeout, "handles_above": self.handles_above, "output": self.output, "detach": self.detach,
                "tensors": self.tensors}
        return Options(**{**same, **changes})


_options: "contextvars.ContextVar[Options]" = contextvars.ContextVar("seer_options", default=Options())  # noqa: B039 - it never changes
current_options = _options.get


class options:
    """Holds for all calls in the block, those of this thread or task:

    with options(timeout=60, output=False): ...

    timeout         seconds that a call may run; None = as long as it likes
    handles_above   a result of as many bytes stays in the sandbox, and a Handle to it comes; 0 = every result
    output          what a function prints: True = to sys.stdout and sys.stderr, False = nowhere,
                    or a function of the stream (1 or 2) and the text
    detach          a call goes on to its end when this process is gone, and Ctrl-C does not cancel it
    tensors         "torch": a tensor that comes is one of torch, which is imported then, if it is installed;
                    "numpy": it is an array of NumPy, and torch is not imported

    What is not given stays as it is outside the block.
    """

    def __init__(self, **changes: Any) -> None:
        unknown = set(changes) - {"timeout", "handles_above", "output", "detach", "tensors"}
        if unknown:
            raise TypeError("there is no option %s; there are timeout, handles_above, output, detach and tensors"
                            % ", ".join(sorted(unknown)))
        Options(**changes)  # complains here, not in the block
        self._changes = changes
        self._tokens: List[Any] = []

    def __enter__(self) -> Options:
        chosen = _options.get().but(**self._changes)
        self._tokens.append(_options.set(chosen))
        return chosen

    def __exit__(self, *_: object) -> None:
        _options.reset(self._tokens.pop())
