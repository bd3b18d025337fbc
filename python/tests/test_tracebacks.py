"""Where tracebacks end."""

import asyncio
import traceback
from pathlib import Path

from seer import Error
from seer.environment import Sandbox, SandboxConfig, setup_environment
from seer.environment.experiment import ExperimentConfig
from seer.execution import create_cli_session
from support import Case

OURS = str(Path(__file__).parents[1] / "seer")


def wrong():
    return Sandbox(SandboxConfig(gpu=None, cpu="x"))


def enter():
    with wrong():
        pass


async def enter_aio():
    async with wrong():
        pass


class TestTracebacks(Case):
    def frames(self, work):
        """The frames of this package behind the line that called it, and the files of all frames."""
        try:
            work()
        except Error as e:
            frames = [f for f, _ in traceback.walk_tb(e.__traceback__)]
            self.assertTrue(e.__suppress_context__ or e.__context__ is None)
        shown = [f.f_code.co_filename for f in frames]
        self.assertIn(__file__, shown)
        ours = [f for f in frames if f.f_code.co_filename.startswith(OURS)]
        self.assertTrue(all(f.f_locals.get("__tracebackhide__") for f in ours))
        return [Path(f.f_code.co_filename).name for f in ours], shown

    def test_waiting(self):
        """Plain Python shows the frame that raises, which pytest and IPython hide."""
        experiment = ExperimentConfig(sandbox={"cpu": "x", "execution_mode": None})
        for name, work in {
            "start": lambda: wrong().start(), "with": enter, "from_id": lambda: Sandbox.from_id("sb-none"),
            "from_snapshot": lambda: Sandbox.from_snapshot("none", SandboxConfig(gpu=None)), "exec": lambda: wrong().exec("true"),
            "session": lambda: create_cli_session(wrong()), "setup": lambda: setup_environment(experiment),
        }.items():
            with self.subTest(name):
                self.assertEqual(self.frames(work)[0], ["blocking.py"])

    def test_aio(self):
        async def main(work):
            await work()

        for name, work in {
            "start": lambda: wrong().start.aio(), "with": enter_aio, "from_id": lambda: Sandbox.from_id.aio("sb-none"),
            "exec": lambda: wrong().exec.aio(7),
        }.items():
            with self.subTest(name):
                found, shown = self.frames(lambda work=work: asyncio.run(main(work)))
                self.assertEqual((found, shown[-1]), ([], __file__))
        self.assertEqual(self.frames(lambda: asyncio.run(main(lambda: create_cli_session.aio(wrong()))))[0], ["blocking.py"])
