"""The floor of a large value: a length, and so many bytes there; the same back if it is asked for."""

import socket
import struct

HEAD = struct.Struct("<QQ")  # bytes that come, bytes that are wanted

if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
        ready = memoryview(b"")
        while True:
            head = connection.recv(HEAD.size, socket.MSG_WAITALL)
            if not head:
                break
            comes, wanted = HEAD.unpack(head)
            here = memoryview(bytearray(comes))
            while comes:
                comes -= connection.recv_into(here[len(here) - comes:])
            if len(here) == wanted:
                ready = here
            elif len(ready) != wanted:
                ready = memoryview(bytearray(b"\1") * wanted)  # memory that is there: pages of zeros cost nothing to read
            connection.sendall(ready)
