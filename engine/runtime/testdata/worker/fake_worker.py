"""The least that can be called a worker: enough to test the runtime without the real one. Every call runs in a thread."""
import array
import contextlib
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback

listening = socket.socket(fileno=3)
page = memoryview(mmap.mmap(4, 64)).cast("Q")
lock = threading.RLock()
functions, calls, tokens, secrets = {}, {}, {}, []
state = {"t": "hello", "pid": os.getpid(), "state": "new", "generation": 0}
control = None
heard, accepting = [], {"calls": True}  # connections of clients; closed once another worker takes the place of this one


def live_with_the_loader():
    fd = os.open("/proc/self/fd/7", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(fd, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    try:
        if not os.read(fd, 1):
            os._exit(1)
    except BlockingIOError:
        pass


def say(message):
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # the next runtime is told when it says hello


def frame(header, body=b""):
    head = json.dumps(header).encode()
    return struct.pack("<IQ", len(head), len(body)) + head + body


def clean(data):
    for name in secrets:
        data = data.replace(os.environ[name].encode(), b"[secret %s]" % name.encode())
    return data


def read(conn, n):
    data = bytearray()
    while len(data) < n:
        more = conn.recv(min(n - len(data), 1 << 20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


class Journal:
    def __init__(self, folder, generation, died):
        os.makedirs(folder, exist_ok=True)
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                self.replay(f.read())
        for call in calls.values():
            if not call.done:
                call.done, call.state = True, "interrupted"
                call.events = [({"t": "error", "id": call.id, "n": 1, "error": {"code": "interrupted", "message": "the worker " + died}}, b"")]
        number = 1 + max([int(name[:8]) for name in os.listdir(folder)] or [0])
        self.f = open(os.path.join(folder, "%08d.seg" % number), "ab", buffering=0)
        self.write({"t": "begin", "segment": number, "generation": generation})

    def replay(self, data):
        while len(data) >= 12:
            h, b = struct.unpack_from("<IQ", data)
            if len(data) < 12 + h + b:
                return
            header, body, data = json.loads(data[12:12 + h]), data[12 + h:12 + h + b], data[12 + h + b:]
            if header["t"] == "started":
                calls[header["id"]] = Call(header)
            elif header["t"] in ("result", "error"):
                call = calls[header["id"]]
                call.events, call.done, call.state = [(header, body)], True, "done"
            elif header["t"] == "acked":
                calls[header["id"]].events = None

    def write(self, header, body=b""):
        self.f.write(frame({**header, "time": time.time()}, body))


class Call:
    def __init__(self, header):
        self.id, self.fn, self.token = header["id"], header["fn"], header.get("token", "main")
        self.events, self.done, self.state, self.changed = [], False, "running", threading.Condition(lock)

    def describe(self):
        return {"id": self.id, "function": self.fn, "state": self.state, "token": self.token}

    def end(self, header, body=b""):
        with lock:
            if not self.done:
                header, body = json.loads(clean(json.dumps({**header, "id": self.id, "n": len(self.events) + 1}).encode())), clean(body)
                journal.write(header, body)
                self.events.append((header, body))
                self.done, self.state = True, "done"
                count(1)
                self.changed.notify_all()

    def fail(self, code, message, **more):
        self.end({"t": "error", "error": {"code": code, "message": message, **more}})

    def run(self, body):
        try:
            answer = functions[self.fn](*body.get("args", []), **body.get("kwargs", {}))
            if hasattr(answer, "__next__"):
                for item in answer:
                    with lock:
                        event = {"t": "item", "id": self.id, "n": len(self.events) + 1}, json.dumps(item).encode()
                        journal.write(*event)
                        self.events.append(event)
                        self.changed.notify_all()
                answer = None
            self.end({"t": "result"}, answer if isinstance(answer, bytes) else json.dumps(answer).encode())
        except Exception as e:
            self.fail("raised", str(e), type=type(e).__name__, traceback=traceback.format_exc())

    def follow(self, conn, n):
        try:
            while True:
                with lock:
                    while len(self.events) < n and not self.done:
                        self.changed.wait()
                    if len(self.events) < n:
                        return
                    event = self.events[n - 1]
                conn.sendall(frame(*event))
                n += 1
        except OSError:
            pass


def count(i):
    with lock:
        page[i] += 1
        page[2] = time.time_ns()


def begin(header, body):
    with lock:
        call = calls.get(header["id"])
        if call is None:
            call = calls[header["id"]] = Call(header)
            count(0)
            journal.write({"t": "started", "id": call.id, "fn": call.fn, "token": call.token})
            threading.Thread(target=call.run, args=(json.loads(body),), daemon=True).start()


def known(conn, header):
    call = calls.get(header["id"])
    if call is None or call.events is None or header.get("token", call.token) != call.token:
        conn.sendall(frame({"t": "error", "id": header["id"], "error": {"code": "unknown_call", "message": "no such call"}}))
        return None
    return call


def serve(conn, owner, everybody):
    mine = []
    try:
        while True:
            h, b = struct.unpack("<IQ", read(conn, 12))
            header, body = json.loads(read(conn, h)), read(conn, b)
            kind = header["t"]
            if not everybody:
                header["token"] = owner
            for name in header.get("ack") or []:
                drop(name)
            if kind == "call" and header["fn"] not in functions:
                conn.sendall(frame({"t": "error", "id": header["id"], "error": {"code": "unknown_function", "message": "none"}}))
            elif kind == "call":
                if header["id"].startswith("call-read-late"):
                    time.sleep(1)  # as a busy computer does it
                begin(header, body)
                call = known(conn, header)
                if call:
                    if header.get("linger") == 0:
                        mine.append(call)
                    threading.Thread(target=call.follow, args=(conn, header.get("from") or 1), daemon=True).start()
            elif kind == "attach":
                call = known(conn, header)
                if call:
                    threading.Thread(target=call.follow, args=(conn, header.get("from") or 1), daemon=True).start()
            elif kind == "calls":
                with lock:
                    found = [c.describe() for c in calls.values() if header.get("token", c.token) == c.token
                             and header.get("id", c.id) == c.id and c.events is not None]
                named = {"id": header["id"]} if "id" in header else {}
                conn.sendall(frame({"t": "calls", **named}, json.dumps(found).encode()))
            elif kind == "cancel":
                calls[header["id"]].fail("cancelled", "cancelled")
            elif kind == "ack":
                drop(header["id"])
    except (EOFError, OSError):
        if conn in heard and not accepting["calls"]:
            return  # it has only been told that nothing more is heard
        for call in mine:
            call.fail("cancelled", "nobody waits")
        conn.close()


def drop(name):
    with lock:
        if name in calls and calls[name].done:
            calls[name].events = None
            journal.write({"t": "acked", "id": name})


def run_file(line):
    space = {"expose": lambda f: functions.setdefault(f.__name__, f), "MODELS": line.get("models") or [], "LOAD": line, "TOKENS": tokens}
    with open(line["path"]) as f:
        code = f.read()
    exec(compile(code, line["filename"], "exec"), space)
    return {"module": line["filename"], "code_hash": str(hash(code)), "functions": [
        {"name": n, "params": [], "input_schema": {}} for n in functions]}


def load(line):
    global journal
    state.update(state="loading", generation=line["generation"])
    tokens.update(all=line.get("tokens"), price=line.get("price"))
    secrets.extend(line.get("secrets") or [])
    journal = Journal(line["journal"], line["generation"], line.get("died") or "died")
    try:
        state["interface"] = run_file(line)
    except Exception as e:
        state["state"] = "failed"
        say({"t": "failed", "error": {"code": "load_failed", "type": type(e).__name__, "message": str(e),
                                      "traceback": traceback.format_exc()}})
        sys.exit(1)
    state["state"] = "ready"
    say({"t": "ready", "interface": state["interface"]})


def reload(line):
    with open(line["path"]) as f:
        if "not in place" in f.read():
            return say({"t": "kept_not", "reason": "it says so"})
    functions.clear()
    state.update(interface=run_file(line), generation=line["generation"])
    say({"t": "ready", "interface": state["interface"], "kept": True})


def talk():
    pending, fds = b"", []
    while True:
        data, ancillary, _, _ = control.recvmsg(1 << 16, socket.CMSG_SPACE(16))
        for _, _, raw in ancillary:
            fds += array.array("i", raw)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        for line in map(json.loads, lines):
            if line["t"] == "load":
                load(line)
            elif line["t"] == "reload":
                reload(line)
            elif line["t"] == "tokens":
                tokens.update(all=line["tokens"], price=line.get("price"))
            elif line["t"] == "conn":
                sock = socket.socket(fileno=fds.pop(0))
                if not line.get("runtime"):
                    if not accepting["calls"]:
                        sock.close()
                        continue
                    heard.append(sock)
                if line.get("hello"):
                    sock.sendall(line["hello"].encode())
                threading.Thread(target=serve, args=(sock, line.get("token"), line.get("runtime")), daemon=True).start()
            elif line["t"] == "leaving":
                accepting["calls"] = False
                for sock in heard:
                    with contextlib.suppress(OSError):
                        sock.shutdown(socket.SHUT_RD)
            elif line["t"] == "staying":
                accepting["calls"] = True
                heard.clear()
            elif line["t"] == "stop":
                while page[0] > page[1]:
                    time.sleep(0.01)
                time.sleep(0.05)
                os._exit(0)


live_with_the_loader()
while True:
    listening.settimeout(20)
    try:
        control = listening.accept()[0]
    except socket.timeout:
        os._exit(0)
    control.setblocking(True)
    try:
        socket.send_fds(control, [json.dumps(state).encode() + b"\n"], [4, 5, 6])
        talk()
    except OSError:
        pass
