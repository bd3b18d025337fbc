"""serve.py WORD PORT STUB: answers at PORT with the word; at STUB's port 53 with addresses."""
import socket
import struct
import sys
import threading

word, port, stub = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3]
names = {b"internet": "203.0.113.7", b"metadata": "169.254.169.254", b"host": "10.77.0.1", b"loopback": "127.0.0.1", b"private": "10.20.30.40"}


def stream(s):
    s.listen(64)
    while True:
        conn, peer = s.accept()
        threading.Thread(target=answer, args=(conn,), daemon=True).start()


def answer(conn):
    with conn:
        conn.settimeout(0.2)
        try:
            asked = conn.recv(4096)
        except OSError:
            asked = b""
        if asked.startswith(b"GET /redirect "):
            conn.sendall(b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:8000/\r\n\r\n")
        else:
            conn.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + word)


def packets(s, reply):
    while True:
        data, peer = s.recvfrom(4096)
        s.sendto(reply(data), peer)


def resolve(query):
    labels = query[13:13 + query[12]].lower()
    kind = struct.unpack_from(">H", query, 12 + query[12:].index(0) + 1)[0]
    end = 12 + query[12:].index(0) + 5
    found = names.get(labels) if kind == 1 else None
    record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x01\0\x04" + socket.inet_aton(found) if found else b""
    return query[:2] + b"\x81\x80\0\x01" + struct.pack(">H", bool(found)) + b"\0\0\0\0" + query[12:end] + record


def bound(family, kind, address):
    s = socket.socket(family, kind)
    if family != socket.AF_UNIX:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(address)
    return s


jobs = [(stream, (bound(f, socket.SOCK_STREAM, (a, port)),)) for f, a in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))]
jobs += [(packets, (bound(f, socket.SOCK_DGRAM, (a, port)), lambda _: word)) for f, a in ((socket.AF_INET, a) for a in (["0.0.0.0"] if stub else ["203.0.113.7", "169.254.169.254", "10.20.30.40"]))]
if stub:
    jobs.append((packets, (bound(socket.AF_INET, socket.SOCK_DGRAM, (stub, 53)), resolve)))
    jobs.append((stream, (bound(socket.AF_UNIX, socket.SOCK_STREAM, "\0seer-fakenet"),)))
for target, args in jobs[1:]:
    threading.Thread(target=target, args=args, daemon=True).start()
print("ready", flush=True)
sys.stdout.close()
jobs[0][0](*jobs[0][1])
