"""The kernel alone, through Jupyter's own manager."""

import asyncio
import random
import sys
import time
import unittest
from pathlib import Path

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seer_notebook.kernel import Kernel

PATIENCE = 30.0


class Answers(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        async def ended(reason: str) -> None:
            pass

        self.kernel = Kernel(AsyncMappingKernelManager(), None, "/", {}, ended)
        await self.kernel.start()

    async def asyncTearDown(self) -> None:
        await self.kernel.stop()

    async def test_no_answer_is_missed_when_it_comes_while_something_is_sent(self) -> None:
        rnd = random.Random(7)

        async def run(code: str) -> None:
            self.assertEqual((await self.kernel.run(code, lambda kind, content: None))["status"], "ok")

        async def pair() -> None:
            first = asyncio.ensure_future(run("1"))
            await asyncio.sleep(0)
            time.sleep(rnd.random() * 0.05)  # the answer comes while the loop does something else
            await run("2")
            await first

        for _ in range(20):
            await asyncio.wait_for(pair(), PATIENCE)


if __name__ == "__main__":
    unittest.main()
