"""A Python that keeps its variables between pieces of code.

Started as ``python -u -c PROGRAM FOLDER NONCE``. Code comes as files
``FOLDER/NONCE/ID.request`` (JSON: ``{"code": ...}``), and anything on standard
input makes it look for them. What the code prints goes where it always goes. Between
that stand *marks*: a zero byte, ``seer-NONCE``, words, and the end of the line, each
in one write:

    begin ID            on both streams
    result              what follows is the repr of the last expression
    image FILE TYPE     an image, in the same folder
    error TYPE          what follows is the message of an exception
    traceback           what follows is its traceback
    end ID STATUS       on both streams; ok, error or interrupted

``ID.interrupt`` and SIGINT interrupt the code ID, and nothing else. ``ID.running`` is
there while it runs. Who has written ``ID.kill`` and then sees that, may kill this process:
no other code begins in it. First of all, as ``start``, the pieces of
``FOLDER/setup.json`` run: ``[{"name", "code"}]``.
"""

from __future__ import annotations

import ast
import base64
import builtins
import io
import json
import linecache
import os
import select
import shutil
import signal
import sys
import threading
import time
import traceback
import types
from typing import Any, Iterator, Optional, Tuple

Image = Tuple[bytes, str]  # data, MIME type

ACTIVE_EVERY = 5  # seconds between two signs of activity
KEPT_SOURCES = 1000  # for tracebacks


class Channel:
    """Marks between what the code prints."""

    def __init__(self, nonce: str) -> None:
        self.prefix = b"\0seer-" + nonce.encode() + b" "
        # Copies, so that code which closes or redirects its own does not take ours.
        self.out, self.err = os.dup(1), os.dup(2)

    def mark(self, *words: str, both: bool = False) -> None:
        flush()
        line = self.prefix + " ".join(words).encode("utf-8", "replace") + b"\n"
        for fd in (self.out, self.err) if both else (self.out,):
            write(fd, line)

    def section(self, *words: str, text: str) -> None:
        self.mark(*words)
        write(self.out, text.encode("utf-8", "backslashreplace"))


def write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view):]
        except BlockingIOError:  # the code has made the pipe so
            select.select([], [fd], [])


def remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def flush() -> None:
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)}.values():
        try:
            stream.flush()  # type: ignore[union-attr]
        except Exception:  # the code's own, or closed
            pass


class Interpreter:
    def __init__(self, folder: str, nonce: str) -> None:
        self.root = os.path.expanduser(folder)
        self.folder = os.path.join(self.root, nonce)
        self.channel = Channel(nonce)
        self.running = ""
        self.count = 0
        self.images = 0
        self.shown: list[Any] = []
        self.loop: Any = None
        self.pid = os.getpid()
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins

    # What comes in.

    def prepare(self) -> int:
        """Makes room, and takes standard input away from the code. Returns the bell."""
        os.makedirs(self.root, mode=0o700, exist_ok=True)
        for old in os.scandir(self.root):
            if old.is_dir(follow_symlinks=False) and old.path != self.folder:
                shutil.rmtree(old.path, ignore_errors=True)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        bell = os.dup(0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        sys.argv = [""]
        sys.path[0] = os.getcwd()
        sys.modules["seer_interpreter"] = sys.modules["__main__"]
        sys.modules["__main__"] = self.main
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        os.environ.setdefault("MPLBACKEND", "Agg")
        builtins.display = self.display  # type: ignore[attr-defined]
        builtins.input = nobody
        threading.Thread(target=self.stay_active, daemon=True).start()
        return bell

    def setup(self) -> None:
        path = os.path.join(self.root, "setup.json")
        pieces = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                pieces = json.load(f)
        self.channel.mark("begin", "start", both=True)
        status = "ok"
        for piece in pieces:
            status = self.execute("start", piece["code"], "<" + piece["name"] + ">")
            if status != "ok":
                break
        self.count = 0
        self.channel.mark("end", "start", status, both=True)

    def serve(self, bell: int) -> None:
        while True:
            ready, _, _ = select.select([bell], [], [], 5)
            if ready and not os.read(bell, 4096):
                return
            for path in self.requests():
                self.answer(path)

    def requests(self) -> Iterator[str]:
        """The oldest first, until there is none."""
        while True:
            found = []
            for entry in self.entries():
                if entry.name.endswith(".request"):
                    try:
                        found.append((entry.stat().st_mtime_ns, entry.path))
                    except FileNotFoundError:
                        pass  # taken back
            if not found:
                return
            yield min(found)[1]

    def entries(self) -> "list[os.DirEntry[str]]":
        try:
            return list(os.scandir(self.folder))
        except FileNotFoundError:  # the code has removed it; it comes back with the next code
            return []

    def answer(self, path: str) -> None:
        name = os.path.basename(path)[: -len(".request")]
        mine = os.path.join(self.folder, name)
        try:
            os.rename(path, mine + ".running")
        except FileNotFoundError:
            return  # taken back
        with open(mine + ".running", encoding="utf-8") as f:
            code = json.load(f)["code"]
        self.count += 1
        self.channel.mark("begin", name, both=True)
        status = self.execute(name, code, f"<cell {self.count}>")
        if os.getpid() != self.pid:
            os._exit(0)  # the code has forked and its child has come here
        remove(mine + ".running")
        if os.path.exists(mine + ".kill"):
            os.kill(self.pid, signal.SIGKILL)  # it may come at any time now, and is not meant for the next code
        self.channel.mark("end", name, status, both=True)
        remove(mine + ".interrupt")

    # What is done with it.

    def execute(self, name: str, code: str, filename: str) -> str:
        signal.signal(signal.SIGINT, self.interrupt)
        try:
            self.running = name
            try:
                self.run(code, filename)
            finally:
                self.running = ""
            return "ok"
        except KeyboardInterrupt as e:
            self.failed(e, filename)
            return "interrupted"
        except BaseException as e:
            self.failed(e, filename)
            return "error"

    def run(self, code: str, filename: str) -> None:
        keep_source(filename, code)
        self.shown.clear()
        tree = ast.parse(code, filename)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        if tree.body:
            self.evaluate(tree, filename, "exec")
        if last is not None:
            value = self.evaluate(last, filename, "eval")
            if value is not None:
                self.main.__dict__["_"] = value
                self.show(value)
        self.show_figures()
        self.shown.clear()

    def evaluate(self, tree: Any, filename: str, mode: str) -> Any:
        code = compile(tree, filename, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(code, self.main.__dict__)
        if code.co_flags & 0x80 and hasattr(value, "send"):  # CO_COROUTINE: it awaits something
            import asyncio

            self.loop = self.loop or asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            value = self.loop.run_until_complete(value)
        return value

    def failed(self, error: BaseException, filename: str) -> None:
        if os.getpid() != self.pid:
            return
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != filename:
            trace = trace.tb_next
        kind, message = type(error).__name__, ""
        try:
            message = str(error)
            if isinstance(error, SystemExit):
                message = f"exit({message}) ends nothing here: the interpreter goes on"
            told = traceback.TracebackException(type(error), error, trace)
            if isinstance(error, KeyboardInterrupt) and told.stack and told.stack[-1].name == "interrupt":
                told.stack.pop()
            text = "".join(told.format())
        except BaseException as e:  # of the user's __str__
            text = f"{kind}, which cannot be told: {type(e).__name__}\n"
        self.channel.section("error", kind, text=message)
        self.channel.section("traceback", text=text)

    def interrupt(self, *_: object) -> None:
        if self.running and os.path.exists(os.path.join(self.folder, self.running + ".interrupt")):
            raise KeyboardInterrupt

    # What is shown.

    def display(self, *values: Any) -> None:
        """Shows images and figures as such, anything else by its repr."""
        for value in values:
            if not self.picture(value):
                print(repr(value))

    def show(self, value: Any) -> None:
        text = repr(value)
        self.picture(value)
        self.channel.section("result", text=text)

    def picture(self, value: Any) -> bool:
        image = image_of(value)
        if image is None:
            return False
        if any(value is other for other in self.shown):
            return True
        self.shown.append(value)
        self.images += 1
        name = f"image-{self.images}"
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(image[0])
        self.channel.mark("image", name, image[1])
        return True

    def show_figures(self) -> None:
        """Shows the figures that are open, and closes them, as notebooks do."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            self.picture(pyplot.figure(number))
        pyplot.close("all")

    def stay_active(self) -> None:
        """Says that the sandbox is used while code runs."""
        path = os.environ.get("SEER_ACTIVITY")
        while path:
            if self.running:
                with open(path, "a"):
                    os.utime(path)
            time.sleep(ACTIVE_EVERY)


def nobody(*_: object) -> str:
    raise EOFError("nobody is there to answer input()")


def keep_source(filename: str, code: str) -> None:
    """Lets tracebacks show the lines."""
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    cells = [name for name in linecache.cache if name.startswith("<cell ")]
    for name in cells[:-KEPT_SOURCES]:
        del linecache.cache[name]


def image_of(value: Any) -> Optional[Image]:
    """A value as an image, if it is one."""
    if isinstance(value, type):
        return None
    kind = type(value)
    if kind.__module__.startswith("matplotlib.") and hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png", bbox_inches="tight")
        return file.getvalue(), "image/png"
    for method, mime in (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg")):
        if not callable(getattr(kind, method, None)):
            continue
        data = getattr(value, method)()
        if isinstance(data, tuple):
            data = data[0]
        if isinstance(data, str):
            data = base64.b64decode(data)
        if isinstance(data, (bytes, bytearray)):
            return bytes(data), mime
    return None


def shorten_arguments() -> None:
    """Whoever lists processes sees a name, not this text."""
    try:
        import ctypes

        with open("/proc/self/cmdline", "rb") as f:
            words = f.read()
        first = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value
        if first and ctypes.string_at(first, len(words)) == words:
            ctypes.memset(first, 1, len(words))  # without the zero at the end, the arguments end with the first one
            ctypes.memmove(first, b"seer-python\0", 12)
    except (ImportError, OSError, ValueError):
        pass  # another system, or another C library


def main() -> None:
    shorten_arguments()
    interpreter = Interpreter(sys.argv[1], sys.argv[2])
    bell = interpreter.prepare()
    interpreter.setup()
    interpreter.serve(bell)


if __name__ == "__main__":
    main()
