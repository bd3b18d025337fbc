"""The least that can be called a worker: enough to test the runtime without the real one."""
import array
import json
import mmap
import os
import socket
import struct
import sys
import threading
import time
import traceback

control = socket.socket(fileno=3)
page = memoryview(mmap.mmap(4, 64)).cast("Q")
lock = threading.Lock()
functions = {}


def say(message):
    control.sendall(json.dumps(message).encode() + b"\n")


def read(conn, n):
    data = bytearray()
    while len(data) < n:
        more = conn.recv(min(n - len(data), 1 << 20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)


def count(i):
    with lock:
        page[i] += 1
        page[2] = time.time_ns()


def serve(conn):
    try:
        while True:
            h, b = struct.unpack("<IQ", read(conn, 12))
            header, body = json.loads(read(conn, h)), json.loads(read(conn, b))
            count(0)
            out, data = {"t": "result", "id": header["id"], "tagged": False}, b""
            try:
                data = json.dumps(functions[header["fn"]](*body["args"], **body["kwargs"])).encode()
            except Exception as e:
                out = {"t": "error", "id": header["id"], "error": {
                    "code": "raised", "type": type(e).__name__, "message": str(e), "traceback": traceback.format_exc()}}
            count(1)
            head = json.dumps(out).encode()
            conn.sendall(struct.pack("<IQ", len(head), len(data)) + head + data)
    except (EOFError, OSError):
        conn.close()


def load(line):
    space = {"expose": lambda f: functions.setdefault(f.__name__, f), "MODELS": line.get("models") or []}
    try:
        with open(line["path"]) as f:
            exec(compile(f.read(), line["filename"], "exec"), space)
    except Exception as e:
        say({"t": "failed", "error": {"code": "load_failed", "type": type(e).__name__, "message": str(e),
                                      "traceback": traceback.format_exc()}})
        sys.exit(1)
    say({"t": "ready", "interface": {"module": line["filename"], "functions": [
        {"name": n, "params": [], "input_schema": {}} for n in functions], "code_hash": ""}})


pending, fds = b"", []
while True:
    data, ancillary, _, _ = control.recvmsg(1 << 16, socket.CMSG_SPACE(16))
    for _, _, raw in ancillary:
        fds += array.array("i", raw)
    if not data:
        os._exit(0)
    *lines, pending = (pending + data).split(b"\n")
    for line in map(json.loads, lines):
        if line["t"] == "load":
            load(line)
        elif line["t"] == "conn":
            sock = socket.socket(fileno=fds.pop(0))
            sock.sendall(line.get("hello", "").encode())
            threading.Thread(target=serve, args=(sock,), daemon=True).start()
        elif line["t"] == "stop":
            while page[0] > page[1]:
                time.sleep(0.01)
            os._exit(0)
