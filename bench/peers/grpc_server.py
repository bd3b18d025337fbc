"""A peer: grpcio, with bytes as they are."""

from concurrent.futures import ThreadPoolExecutor

import grpc

if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(16))
    echo = grpc.unary_unary_rpc_method_handler(lambda request, _: request)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench", {"Echo": echo}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()
