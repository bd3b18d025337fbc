"""The session that is used where none is named."""

import asyncio
import threading
import unittest
from pathlib import Path

import support  # noqa: F401
from seer import Error
from seer._engine import sessions


class Fake:
    mcp_config, prompt, env, workspace_dir = {}, "", {}, Path()

    def __init__(self, name):
        self.name, self.closed = name, False


class SessionsTest(unittest.TestCase):
    def test_current(self):
        """Each test method has a context of its own."""
        async def main():
            with self.assertRaisesRegex(Error, "no session is open"):
                sessions.current()
            one, two = Fake("one"), Fake("two")
            sessions.add(one)
            self.assertIs(sessions.current(), one)
            sessions.add(two)
            with self.assertRaisesRegex(Error, r"2 sessions are open in this context \(one, two\)"):
                sessions.current()
            one.closed = True
            self.assertIs(sessions.current(), two)

        asyncio.run(main())

    def test_others(self):
        """A task has the sessions of the one that started it; neither threads nor siblings have."""
        async def main():
            async def child():
                before = sessions.current()
                before.closed = True
                sessions.add(Fake("child's"))
                return before

            one = Fake("one")
            sessions.add(one)
            self.assertIs(await asyncio.create_task(child()), one)
            with self.assertRaisesRegex(Error, "no session"):
                sessions.current()
            sessions.add(Fake("main's"))
            thread = threading.Thread(target=lambda: found.append(failure()))
            thread.start()
            await asyncio.to_thread(thread.join) if hasattr(asyncio, "to_thread") else thread.join()
            self.assertEqual(found, ["not_found"])

        def failure():
            try:
                return sessions.current().name
            except Error as e:
                return e.kind

        found = []
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
