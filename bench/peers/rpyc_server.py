"""A peer: rpyc, a thread for each client."""

import rpyc
from rpyc.utils.server import ThreadedServer


class Service(rpyc.Service):
    def exposed_echo(self, text: str) -> str:
        return text


if __name__ == "__main__":
    server = ThreadedServer(Service, hostname="127.0.0.1", port=0)
    server._listen()  # start() does it otherwise, after the port is known
    print(server.port, flush=True)
    server.start()
