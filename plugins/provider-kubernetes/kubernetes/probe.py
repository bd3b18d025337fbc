# Which of several places can be reached from here? The first argument is a port of this machine
# that listens, by which the probe shows that it works at all; further ones are HOST:PORT. A
# refused connection is none: some network plugins refuse what a policy does not allow.
import json
import os
import socket
import sys
import threading

TIMEOUT = 2


def connects(host, port):
    try:
        socket.create_connection((host, port), TIMEOUT).close()
        return True
    except OSError:
        return False


def answers(host):
    """A DNS server answers over UDP."""
    query = b"\x5e\xe2\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0akubernetes\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01"
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(TIMEOUT)
            s.connect((host, 53))
            s.send(query)
            return bool(s.recv(512))
    except OSError:
        return False


def places(more):
    api = os.environ.get("KUBERNETES_SERVICE_HOST")
    if api:
        yield "the API of the cluster", connects, (api, int(os.environ.get("KUBERNETES_SERVICE_PORT", "443")))
    try:
        with open("/etc/resolv.conf") as f:
            servers = [line.split()[1] for line in f if line.startswith("nameserver") and len(line.split()) > 1]
    except OSError:
        servers = []
    for server in servers:
        yield "DNS at " + server, answers, (server,)
        yield "DNS at " + server, connects, (server, 53)
    yield "169.254.169.254:80", connects, ("169.254.169.254", 80)
    for place in more:
        host, port = place.rsplit(":", 1)
        yield place, connects, (host.strip("[]"), int(port))


def main():
    tried, reached = [], []

    def attempt(name, way, where):
        if way(*where) and name not in reached:
            reached.append(name)

    threads = []
    for name, way, where in places(sys.argv[2:]):
        tried.append(name)
        threads.append(threading.Thread(target=attempt, args=(name, way, where), daemon=True))
    own = connects("127.0.0.1", int(sys.argv[1]))
    for t in threads:
        t.start()
    for t in threads:
        t.join(2 * TIMEOUT)
    print(json.dumps({"tried": tried, "reached": sorted(reached), "self": own}))


main()
