"""The floor of a call: bytes come and go back, over TCP."""

import socket

SIZE = 1024

if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            data = connection.recv(SIZE, socket.MSG_WAITALL)
            if not data:
                break
            connection.sendall(data)
