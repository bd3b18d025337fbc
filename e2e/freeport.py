"""Ports for later."""
import random
import socket


def free_port() -> int:
    """None that the system gives to whoever asks for any, as those from 32768 on are: nobody else has it meanwhile."""
    while True:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port := random.randrange(20000, 32768)))
            except OSError:
                continue
            return port


if __name__ == "__main__":
    print(free_port())
