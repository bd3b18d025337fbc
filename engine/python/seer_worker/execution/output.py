"""What a call prints: it goes to the log as ever, and to the call's followers as it comes.

What child processes and code that is not Python's write to the descriptors goes to the log only.
"""

import codecs
import io
import os
import re
import sys
import threading
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

from ..interface.scrub import cut
from ..process import context
from ..process.context import Scope

Sink = Callable[[int, str], None]  # 1 stdout, 2 stderr; the text, scrubbed. Called from any thread, one at a time for a call

_PAUSE = 0.02  # seconds in which what is printed is gathered
_MOST = 64 << 10  # characters that may wait; whoever prints more has to wait, too
_PATIENCE = 5.0
_OVERWRITTEN = re.compile(r"(?<=\r)[^\r\n]*\r(?=[^\n])")  # of a progress bar: what the next state of it hides

_current = context.current


class Output:
    """Takes the place of sys.stdout and sys.stderr; before the interface is loaded, for it may keep them."""

    def __init__(self, scrub: Callable[[str], str] = str, secrets: Iterable[str] = (), hides: bool = False) -> None:
        """scrub is Scrubber.text; secrets are the values: one that comes in pieces is found, too. So are, with hides, hidden models."""
        self._scrub, self._hides, self._secrets = scrub, hides, [s for s in secrets if len(s) > 1]
        self._flusher = _Flusher()
        self._before: Optional[Tuple[Any, Any]] = None

    def install(self) -> None:
        """Replaces the two streams."""
        self._before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _stream(sys.stdout, 1), _stream(sys.stderr, 2)
        context.install()

    def restore(self) -> None:
        """Undoes install."""
        if self._before is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = self._before
            self._before = None

    def begin(self, scope: Scope, sink: Sink) -> None:
        """From now on, what code of the scope (context.enter) prints is given to the sink, some 20 ms later."""
        scope.capture = _Capture(sink, self._scrub, self._secrets, self._hides, self._flusher)

    def end(self, scope: Scope) -> None:
        """Gives the sink the rest, in this thread. After it the sink is not called any more."""
        capture, scope.capture = scope.capture, None
        if capture is not None:
            capture.end()


class _Capture:
    """What one call has printed and its sink has not been given yet."""

    _lock: Any = None  # nothing has been printed yet: most calls print nothing, and pay nothing

    def __init__(self, sink: Sink, scrub: Callable[[str], str], secrets: Sequence[str], hides: bool, flusher: "_Flusher") -> None:
        self._sink, self._scrub, self._secrets, self._hides, self._flusher = sink, scrub, secrets, hides, flusher
        self._ended = False

    def _prepare(self) -> None:
        with self._flusher.lock:
            if self._lock is not None:  # another thread was faster
                return
            self._giving = threading.Lock()
            self._taken = threading.Event()  # what was too much
            self._texts: List[Tuple[int, str]] = []
            self._size = 0
            self._held = {1: "", 2: ""}  # what may be the beginning of a secret
            self._decoders: Any = {}
            self._lock = threading.Lock()

    def end(self) -> None:
        self._ended = True  # first: who prints for the first time now finds it so
        if self._lock is not None:
            self.flush(True)

    def add(self, stream: int, text: str) -> None:
        if self._ended or not text or os.getpid() != self._flusher.process:  # a child after a fork has no followers
            return
        if self._lock is None:
            self._prepare()
        with self._lock:
            if self._ended:
                return
            first = not self._texts
            self._texts.append((stream, text))
            self._size += len(text)
            full = self._size > _MOST
            if full:
                self._taken.clear()
        if first or full:
            self._flusher.wake(self, full)
        if full:  # the sink is for the flusher: whoever prints may be interrupted at any moment
            self._taken.wait(_PATIENCE)

    def add_bytes(self, stream: int, data: Any) -> None:
        if os.getpid() != self._flusher.process:
            return
        if self._lock is None:
            self._prepare()
        decoder = self._decoders.get(stream)
        if decoder is None:
            decoder = self._decoders.setdefault(stream, codecs.getincrementaldecoder("utf-8")("replace"))
        self.add(stream, decoder.decode(bytes(data)))

    def flush(self, last: bool) -> None:
        with self._giving:
            with self._lock:
                texts, self._texts, self._size = self._texts, [], 0
                self._taken.set()
            for stream, text in _joined(texts):
                self._give(stream, self._held[stream] + text, False)
            if last:
                for stream in (1, 2) if self._secrets or self._hides else ():
                    self._give(stream, self._held[stream], True)

    def _give(self, stream: int, text: str, last: bool) -> None:
        if self._secrets or self._hides:
            text, self._held[stream] = (self._scrub(text), "") if last else cut(text, self._scrub, self._secrets, self._hides)
        if text:
            text = _OVERWRITTEN.sub("", text) if "\r" in text else text
            self._sink(stream, text.encode("utf-8", "replace").decode("utf-8"))


class _Flusher:
    """The thread that gives sinks what was printed. It is there once something has been."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process = os.getpid()
        self._captures: List[_Capture] = []
        self._something, self._now = threading.Event(), threading.Event()
        self._started = False

    def wake(self, capture: _Capture, now: bool) -> None:
        with self.lock:
            if capture not in self._captures:
                self._captures.append(capture)
            start, self._started = not self._started, True
        self._something.set()
        if now:
            self._now.set()
        if start:
            thread = threading.Thread(target=self._run, name="seer-output", daemon=True)
            getattr(threading.Thread.start, "__wrapped__", threading.Thread.start)(thread)

    def _run(self) -> None:
        while True:
            self._something.wait()
            self._now.wait(_PAUSE)
            with self.lock:
                self._now.clear()
                captures, self._captures = self._captures, []
                self._something.clear()
            for capture in captures:
                try:
                    capture.flush(False)
                except Exception as e:  # a follower that has gone must not silence the others
                    print("seer: output could not be passed on: %s: %s" % (type(e).__name__, e), file=sys.__stderr__)


class _Stream(io.TextIOWrapper):
    """A text stream over the buffer of the one before it."""

    seer_stream = 0

    def write(self, text: str) -> int:
        scope = _current()
        if scope is not None and scope.capture is not None and type(text) is str:
            scope.capture.add(self.seer_stream, text)
        return super().write(text)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:  # type: ignore[override]
        """What takes bytes. The stream itself does not come this way."""
        return _Bytes(super().buffer, self.seer_stream)


class _Bytes:
    """sys.stdout.buffer: passes everything on, and what is written to the call, too."""

    def __init__(self, buffer: Any, stream: int) -> None:
        self._buffer, self._stream = buffer, stream

    def write(self, data: Any) -> int:
        scope = _current()
        if scope is not None and scope.capture is not None:
            scope.capture.add_bytes(self._stream, data)
        return self._buffer.write(data)  # type: ignore[no-any-return]

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)



def _stream(before: Any, number: int) -> Any:
    """One like the stream before; that itself where it is none of the usual ones (None, or a test's)."""
    if not isinstance(before, io.TextIOWrapper):
        return before
    before.flush()
    if hasattr(before, "seer_over"):
        return before.seer_over
    stream = _Stream(before.buffer, before.encoding, before.errors, None, before.line_buffering, getattr(before, "write_through", False))
    stream.seer_stream, stream.mode = number, "w"  # type: ignore[misc]
    before.seer_over = stream  # type: ignore[attr-defined]  # the end of either would close what both write to
    return stream


def _joined(texts: Sequence[Tuple[int, str]]) -> List[Tuple[int, str]]:
    """Neighbours on the same stream become one."""
    out: List[Tuple[int, List[str]]] = []
    for stream, text in texts:
        if out and out[-1][0] == stream:
            out[-1][1].append(text)
        else:
            out.append((stream, [text]))
    return [(stream, "".join(parts)) for stream, parts in out]
