"""Listens, reads requests and answers them."""
import json
import os
import socket
import time

CODES = {"invalid": "400 Bad Request", "unauthorized": "401 Unauthorized", "conflict": "409 Conflict",
         "failed": "422 Unprocessable Entity", "internal": "500 Internal Server Error",
         "unavailable": "503 Service Unavailable", "no_space": "507 Insufficient Storage"}
ATTENTION = 10  # seconds for a request without a token


def listen(where):
    kind, _, address = where.partition(":")
    if kind == "unix":
        return listen_unix(address)
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, int(port)))
    sock.listen(4096)  # a client of a Unix socket gets EAGAIN, where the queue is full
    return sock


def listen_unix(path):
    folder, name = os.path.split(path)
    os.chdir(folder)  # a relative name fits where a long path does not
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(name)
    except FileNotFoundError:
        pass
    except ConnectionRefusedError:
        os.unlink(name)  # left behind by a machine that was killed
    sock = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    sock.bind(name)
    os.umask(mask)
    os.chdir("/")
    sock.listen(4096)  # a client of a Unix socket gets EAGAIN, where the queue is full
    return sock


def answer(conn, status, body):
    data = json.dumps(body).encode()
    head = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nSeer: 1\r\nConnection: close\r\n\r\n"
    try:
        end = time.monotonic() + (60 if (conn.gettimeout() or 0) > ATTENTION else 2)  # with and without a token
        conn.sendall((head % (status, len(data))).encode() + data)
        conn.shutdown(socket.SHUT_WR)
        conn.settimeout(2)
        while time.monotonic() < end and conn.recv(1 << 16):  # closing with unread data would take the answer away
            pass
    except OSError:
        pass
    conn.close()


def fail(conn, code, message, *values):
    answer(conn, CODES[code], {"error": {"code": code, "message": message % values}})


def read_head(conn):
    data, end = b"", time.monotonic() + ATTENTION
    while b"\r\n\r\n" not in data:
        conn.settimeout(max(0.01, end - time.monotonic()))  # all of it, not a piece
        more = conn.recv(1 << 14)
        if not more or len(data) > 1 << 14:
            raise ValueError("no complete request")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    return method, path, {name.strip().lower(): value.strip() for name, _, value in pairs}, rest
