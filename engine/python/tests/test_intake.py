"""Large arguments that clients send to the worker itself: a token has a share of its memory."""

import json
import tempfile
import unittest
from pathlib import Path

import harness

CODE = """
@expose
def length(text):
    return len(text)
"""
SMALL = """
import sys
sys.path.insert(0, %r)
from seer_worker.transport import intake
intake._MOST = 4 << 20
from seer_worker.main import main
sys.exit(main())
"""
MIB = 1 << 20


class Share(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        main, harness.MAIN = harness.MAIN, Path(folder.name) / "main.py"
        harness.MAIN.write_text(SMALL % str(harness.HERE.parent))
        self.addCleanup(setattr, harness, "MAIN", main)
        self.worker = harness.serve(CODE).__enter__()
        self.addCleanup(self.worker.__exit__)

    def begin(self, peer: harness.Peer, name: str, size: int) -> bytes:
        """Sends a half of a call with arguments of that size, and gives the other half."""
        whole = harness.frame({"t": "call", "id": name, "fn": "length"}, json.dumps({"args": ["x" * size], "kwargs": {}}).encode())
        half = len(whole) // 2
        peer.sock.sendall(whole[:half])
        return whole[half:]

    def test_what_is_too_much_is_passed_over_and_its_call_is_told(self) -> None:
        peers = [self.worker.connect(token="t-agent") for _ in range(3)]
        rest = [self.begin(peer, "large-%03d" % n, 3 * MIB) for n, peer in enumerate(peers)]
        said = []
        for n, peer in enumerate(peers):
            peer.sock.sendall(rest[n])
            try:
                said.append(peer.answer("large-%03d" % n))
            except harness.Failed as e:
                self.assertEqual(e.code, "bad_arguments")
                said.append(e.message)
        self.assertEqual([s for s in said if s == 3 * MIB], [3 * MIB], said)
        self.assertEqual(len([s for s in said if "of one token may have 4 MiB at once" in str(s)]), 2)
        self.assertEqual(peers[1].call("length", "x" * 3 * MIB), 3 * MIB)  # there is room again, and the connection goes on
        self.assertEqual(self.worker.connect(token="main").call("length", "x" * 9 * MIB), 9 * MIB)

    def test_another_token_has_its_own_share(self) -> None:
        hostile = self.worker.connect(token="t-agent")
        self.begin(hostile, "large-000", 3 * MIB)
        self.assertEqual(self.worker.connect(token="t-other").call("length", "x" * 3 * MIB), 3 * MIB)
        hostile.close()
        other = self.worker.connect(token="t-agent")
        harness.eventually(lambda: self.fits(other), "the bytes of a connection that has gone")

    def fits(self, peer: harness.Peer) -> bool:
        try:
            return peer.call("length", "x" * 3 * MIB) == 3 * MIB
        except harness.Failed:
            return False


if __name__ == "__main__":
    unittest.main()
