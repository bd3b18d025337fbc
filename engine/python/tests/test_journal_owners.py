"""What a journal keeps belongs to tokens: nobody reads, or pushes out, what is another's."""

import tempfile
import unittest
from typing import Any

from seer_worker.calls.dispatcher import owns
from seer_worker.journal.journal import Journal


class Owners(unittest.TestCase):
    def ended(self, journal: Journal, token: str, id: str, body: bytes = b"1") -> None:
        journal.started(id, "f", token, "")
        journal.result(id, 1, body)

    def answered(self, journal: Journal, id: str) -> bool:
        entry = journal.find(id)
        return entry is not None and entry.answered

    def test_nobody_pushes_out_what_others_have_not_fetched(self) -> None:
        for limits, body in (({"keep_calls": 10}, b"1"), ({"keep_bytes": 1000}, b"x" * 100)):
            journal = Journal(None, limits)
            for n in range(2):
                self.ended(journal, "t-victim", "victim-%d" % n, body)
            for n in range(50):
                self.ended(journal, "t-agent", "agent-%d" % n, body)
            self.assertTrue(all(self.answered(journal, "victim-%d" % n) for n in range(2)), limits)
            self.assertFalse(self.answered(journal, "agent-0"))
            self.assertTrue(self.answered(journal, "agent-49"))

    def test_an_answer_that_is_too_large_pushes_nobody_out(self) -> None:
        journal = Journal(None, {"keep_bytes": 1000})
        self.ended(journal, "t-victim", "victim-0", b"x" * 500)
        for n in range(3):
            self.ended(journal, "t-agent", "agent-%d" % n, b"x" * 5000)
        self.assertTrue(self.answered(journal, "victim-0"))
        self.assertEqual([self.answered(journal, "agent-%d" % n) for n in range(3)], [False, False, True])

    def test_a_name_keeps_its_token_when_its_segment_is_gone(self) -> None:
        """A call runs so long that nothing is left of its beginning; its answer is read by the next worker."""
        with tempfile.TemporaryDirectory() as folder:
            first: Any = Journal(folder, segment=2000)
            first.started("long-call", "f", "t-victim", "")
            for n in range(100):
                self.ended(first, "t-victim", "short-%03d" % n, b"x" * 100)
                first.acked("short-%03d" % n)
            first.result("long-call", 1, b"the secret")
            first.close()
            second: Any = Journal(folder)
            entry = second.find("long-call")
            self.assertEqual((entry.token, entry.answered), ("t-victim", True))
            self.assertFalse(owns("t-agent", entry.token))
            second.close()

    def test_a_name_without_a_token_is_mains(self) -> None:
        self.assertEqual([owns(t, "") for t in ("main", "t-agent")], [True, False])


if __name__ == "__main__":
    unittest.main()
