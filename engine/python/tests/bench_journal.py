"""What the journal costs a call of 1 KiB, beside the same bytes written bare. Run from engine/python: python3 -m tests.bench_journal"""

import os
import statistics
import tempfile
import time
from typing import List

from seer_worker.journal.journal import Journal

ROUNDS, CALLS = 100, 200


def main() -> None:
    body, times = b"x" * 1024, ([], [], [])  # type: ignore[var-annotated]
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder + "/journal")
        fd = os.open(folder + "/bare", os.O_CREAT | os.O_RDWR)
        for number in range(ROUNDS):
            ids = ["client-%d-%d" % (number, n) for n in range(CALLS)]
            marks: List[float] = [time.perf_counter()]
            for id in ids:
                journal.started(id, "f", "main", "client")
                journal.result(id, 1, body, False, 0.001)
            marks.append(time.perf_counter())
            for id in ids:
                journal.acked(id)
            marks.append(time.perf_counter())
            for _ in ids:
                os.write(fd, b"s" * 110)
                os.write(fd, b"r" * (120 + len(body)))
            marks.append(time.perf_counter())
            for i in range(3):
                times[i].append((marks[i + 1] - marks[i]) / CALLS * 1e6)
        os.close(fd)
        journal.close()
    for name, found in zip(("started and result", "acknowledged", "two bare writes"), times):
        print("%-20s %6.2f µs (best %.2f)" % (name, statistics.median(found), min(found)))


if __name__ == "__main__":
    main()
