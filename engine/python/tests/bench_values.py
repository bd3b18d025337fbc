"""How fast values are: python3 bench_values.py. Each beside what it cannot beat, in turns; medians of the ratios.

    a small dict            against the encoder of JSON alone
    16 MB of float32        encoded, sent, received where it stays and decoded, against the same bytes over the same sockets
    16 MB as lists of JSON  once, for it takes long
"""

import json
import socket
import statistics
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, List

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from seer_worker import values

SIZE = 16 << 20
ARRAY = np.random.RandomState(1).rand(SIZE // 4).astype("f4")
SMALL = {"a": 1, "b": [1.5, 2, "text"], "c": {"d": None}, "text": "x" * 200}
LEFT, RIGHT = socket.socketpair()


def seconds(f: Callable[[], Any], times: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    for _ in range(times):
        f()
    return (clock() - start) / times


def ratios(f: Callable[[], Any], floor: Callable[[], Any], rounds: int, times: int, clock: Callable[[], float] = time.perf_counter) -> str:
    pairs = [(seconds(f, times, clock), seconds(floor, times, clock)) for _ in range(rounds)]
    median = statistics.median
    return "%.4g ms, floor %.4g ms, ratio %.2f" % (
        1e3 * median(a for a, _ in pairs), 1e3 * median(b for _, b in pairs), median(a / b for a, b in pairs))


def receive(view: memoryview) -> None:
    while view:
        view = view[RIGHT.recv_into(view):]


def transfer(send: Callable[[], List[Any]], take: Callable[[], Any]) -> Any:
    def run() -> None:
        for piece in send():
            LEFT.sendall(piece)

    sender = threading.Thread(target=run)
    sender.start()
    got = take()
    sender.join()
    return got


def raw() -> None:
    transfer(lambda: [memoryview(ARRAY).cast("B")], lambda: receive(memoryview(np.empty(SIZE, "u1"))))


def array() -> Any:
    size = values.encode({"result": ARRAY}).size

    def take() -> Any:
        reader = values.BodyReader(size)
        while not reader.done:
            reader.advance(RIGHT.recv_into(reader.room()))
        return values.decode(reader.parts(), True)["result"]

    return transfer(lambda: values.encode({"result": ARRAY}).body(), take)


def lists() -> None:
    memory: List[Any] = []

    def send() -> List[Any]:
        data = json.dumps(ARRAY.tolist()).encode()
        return [len(data).to_bytes(8, "little"), data]

    def take() -> Any:
        head = bytearray(8)
        receive(memoryview(head))
        memory.append(bytearray(int.from_bytes(head, "little")))
        receive(memoryview(memory[0]))
        return np.array(json.loads(memory[0]), "f4")

    transfer(send, take)


if __name__ == "__main__":
    encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
    print("a small dict:", ratios(lambda: values.encode(SMALL), lambda: encoder(SMALL).encode(), 50, 500, time.process_time))
    assert (array() == ARRAY).all()
    print("16 MB of float32:", ratios(array, raw, 30, 1))
    print("16 MB as lists of JSON: %.0f ms" % (1e3 * seconds(lists)))
