"""The kernel alone, through Jupyter's own manager."""

import asyncio
import random
import sys
import time
import unittest
from pathlib import Path
from typing import Any, List
from unittest import mock

from jupyter_client.provisioning import LocalProvisioner
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from seer_notebook.kernel.kernel import Kernel
from seer_notebook.kernel.watch import RESTARTED, WATCH

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


class Restarts(unittest.IsolatedAsyncioTestCase):
    async def test_a_restart_by_somebody_else_is_no_death_however_long_its_start_takes(self) -> None:
        reasons: List[str] = []
        told = asyncio.Event()

        async def ended(reason: str) -> None:
            reasons.append(reason)
            told.set()

        manager = AsyncMappingKernelManager()
        kernel = Kernel(manager, None, "/", {}, ended)
        await kernel.start()
        first, launch = kernel.pid, LocalProvisioner.pre_launch

        async def slowly(self: LocalProvisioner, **more: Any) -> Any:
            await asyncio.sleep(4 * WATCH)  # the old process is gone, and the new one not there
            return await launch(self, **more)

        try:
            with mock.patch.object(LocalProvisioner, "pre_launch", slowly):
                await manager.restart_kernel(kernel.id, now=True)
            await asyncio.wait_for(told.wait(), PATIENCE)
            self.assertEqual(reasons, [RESTARTED])
            await kernel.attach()
            self.assertNotEqual(kernel.pid, first)
            self.assertEqual((await kernel.run("1", lambda kind, content: None))["status"], "ok")
        finally:
            await kernel.stop()


if __name__ == "__main__":
    unittest.main()
