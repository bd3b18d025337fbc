"""Large answers out of the user's memory, whose client goes while they are written."""

import os
import socket
import threading
import unittest
from types import SimpleNamespace

from seer_worker.execution.answers import Answers
from seer_worker.transport.connection import Connection


class Deliver(unittest.TestCase):
    def begin(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        connection = Connection(ours)
        connection.out.append(memoryview(bytes(64 << 20)))
        connection.borrowed = connection.writing = True
        theirs.close()
        return connection, ours

    def deliver(self, connection):
        answers = SimpleNamespace(_scheduler=SimpleNamespace(lock=threading.Lock()), _delivery=None)
        Answers._deliver(answers, connection)  # type: ignore[arg-type]

    def test_who_has_gone_is_left_to_the_reactor(self):
        # Its descriptor's number must not be another's before the reactor has taken it out of its table.
        connection, ours = self.begin()
        self.deliver(connection)
        self.assertTrue(connection.closed)
        self.assertEqual(os.fstat(connection.fd).st_ino, os.fstat(ours.fileno()).st_ino)
        connection.close()
        self.assertEqual(ours.fileno(), -1)

    def test_who_was_dropped_meanwhile_is_closed(self):
        connection, ours = self.begin()
        connection.close()  # by the reactor
        self.assertNotEqual(ours.fileno(), -1)
        self.deliver(connection)
        self.assertEqual(ours.fileno(), -1)


if __name__ == "__main__":
    unittest.main()
