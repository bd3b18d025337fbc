"""50 sandboxes of one program at once: all start, work and end, through one process of the engine."""

import asyncio
import time

from seer._engine import engine
from seer.environment import Sandbox, SandboxConfig

COUNT = 50


async def main():
    config = SandboxConfig(gpu=None, provider="local", isolation="none", execution_mode=None, timeout=600)
    began = time.monotonic()
    sandboxes = await asyncio.gather(*(Sandbox(config).start.aio() for _ in range(COUNT)))
    started = time.monotonic()
    said = await asyncio.gather(*(s.exec.aio("echo $SEER_MACHINE") for s in sandboxes))
    used = time.monotonic()
    assert len({r.stdout for r in said}) == COUNT, said
    resident = memory(engine()._process.pid)
    await asyncio.gather(*(s.terminate.aio() for s in sandboxes))
    ended = time.monotonic()
    print(f"{COUNT} sandboxes: started in {started - began:.1f} s, used in {used - started:.1f} s, ended in {ended - used:.1f} s;"
          f" the engine has {resident >> 20} MiB")
    assert resident < 512 << 20, resident


def memory(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    asyncio.run(main())
