"""What Inspect AI does with sandboxes beside a sample: their configuration, number, connection and end."""

import json
import os
import pty
import shlex
import subprocess
from pathlib import Path

import anyio
import pytest
from inspect_ai import Task, eval
from inspect_ai._cli.main import inspect
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.solver import solver
from inspect_ai.util import SandboxUserUnsupportedError, sandbox

from seer.environment import Sandbox
from seer.errors import ConfigError
from seer.inspect import SeerSandbox, SeerSandboxConfig

HANGS = 600  # seconds


def run(solve, used, samples=1, **options):
    """Runs an eval whose samples do nothing but solve."""

    @solver
    def only():
        async def one(state, generate):
            await solve()
            return state

        return one

    task = Task(dataset=[Sample(input="Go.") for _ in range(samples)], solver=only(), sandbox=used)
    log = eval(task, model=get_model("mockllm/model"), display="none", log_dir="logs", **options)[0]
    assert log.status == "success", log.error.message


def running():
    """The IDs of all sandboxes that run."""
    listed = subprocess.run(["seer", "ls", "--json"], capture_output=True, text=True, check=True)
    return {s["id"] for s in json.loads(listed.stdout) if s["state"] == "running"}


async def identity():
    return (await sandbox().connection()).container


def ids_of(text):
    return [line.split()[-1] for line in text.splitlines() if line.startswith("  seer shell ")]


def test_kept_sandboxes_live_until_they_are_ended(capfd):
    async def write():
        await sandbox().write_file("mark", "of the sample")

    run(write, "seer", 3, sandbox_cleanup=False)
    said = capfd.readouterr().err
    kept = ids_of(said)
    assert len(set(kept)) == 3 and "inspect sandbox cleanup seer" in said
    ask = f"from seer.environment import Sandbox; print(Sandbox.from_id({kept[0]!r}).exec('cat mark'))"
    other = subprocess.run(["python3", "-c", ask], capture_output=True, text=True, check=True)  # which does not end it either
    assert other.stdout == "of the sample\n"
    own = Sandbox.from_id(kept[1])

    inspect(["sandbox", "cleanup", "seer", kept[0]], standalone_mode=False)
    assert kept[0] not in running() and {*kept[1:]} <= running()
    assert own.exec("cat mark").stdout == "of the sample"
    inspect(["sandbox", "cleanup", "seer"], standalone_mode=False)
    assert "ended sandboxes: 2" in capfd.readouterr().out
    assert not running() & {*kept}


def test_cleanup_of_all_leaves_other_sandboxes(capfd):
    with Sandbox.from_file(experiment("named", "{}"), name="inspect-of-somebody") as other:
        inspect(["sandbox", "cleanup", "seer"], standalone_mode=False)
        assert "ended sandboxes: 0" in capfd.readouterr().out
        assert other.exec("echo lives").stdout == "lives\n"


def test_what_a_sample_could_not_end_ends_with_the_task(monkeypatch):
    seen = []

    async def see():
        seen.append(await identity())

    async def fails(*_):
        raise OSError("the sandbox cannot be ended now")

    monkeypatch.setattr(SeerSandbox, "sample_cleanup", fails)
    run(see, "seer", fail_on_error=False)
    assert seen[0] not in running()


def experiment(folder, fields):
    path = Path(folder, "seer.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"sandbox: {{provider: local, timeout: 600, env: {fields}}}\n")
    return str(path)


async def variable():
    return (await sandbox().exec(["sh", "-c", "echo $MARK"])).stdout.strip()


@pytest.mark.parametrize("how", ["found", "named", "in code", "deserialized"])
def test_configuration(how, tmp_path, monkeypatch):
    seen = []

    async def see():
        seen.append(await variable())

    config = SeerSandboxConfig(sandbox={"provider": "local", "env": {"MARK": how}})
    monkeypatch.chdir(tmp_path)
    used = {
        "found": "seer", "named": ("seer", str(tmp_path / "other" / "seer.yaml")), "in code": ("seer", config),
        "deserialized": ("seer", SeerSandbox.config_deserialize(config.model_dump())),
    }[how]
    experiment(tmp_path, "{MARK: found}")
    experiment(tmp_path / "other", "{MARK: named}")
    run(see, used)
    assert seen == [how]


def test_wrong_configuration_lists_all_mistakes():
    wrong = SeerSandboxConfig(sandbox={"provider": "local", "gpus": 1, "imeout": 1})
    with pytest.raises(ConfigError, match=r"(?s)gpus.*imeout"):
        anyio.run(SeerSandbox.sample_init, "task", wrong, {})
    with pytest.raises(ValueError, match="SeerSandboxConfig"):
        anyio.run(SeerSandbox.sample_init, "task", 7, {})
    assert hash(wrong) == hash(SeerSandbox.config_deserialize(wrong.model_dump())) != hash(SeerSandboxConfig())


def test_default_concurrency():
    """Twice the cores at once: all of them come together, and there are never more."""
    limit = 2 * os.cpu_count()
    now, together = [], anyio.Event()
    most = 0

    async def meet():
        nonlocal most
        now.append(1)
        most = max(most, len(now))
        if len(now) == limit:
            together.set()
        with anyio.fail_after(HANGS):
            await together.wait()
        now.pop()

    run(meet, "seer", limit + 2, max_samples=limit + 2)
    assert most == limit


def typed(command, line):
    """Runs a command in a terminal, types a line at its prompt, and returns what it shows until it ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown, waits = b"", True
    while True:
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError:  # that of a terminal whose program has ended
            break
        if waits and shown.rstrip().endswith((b"$", b"#")):
            os.write(terminal, line.encode())
            waits = False
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown.decode()


def test_connection():
    async def connect():
        await sandbox().write_file("mark", "of the sample")
        connection = await sandbox().connection()
        assert connection.type == "seer"
        assert "of the sample" in await anyio.to_thread.run_sync(typed, shlex.split(connection.command), "cat mark; exit\n")

    run(connect, "seer")


def test_users():
    """Where commands run as root of a sandbox that has other users, they run as these, too."""

    async def ask():
        own = (await sandbox().exec(["id", "-un"])).stdout.strip()
        assert (await sandbox().exec(["id", "-un"], user=own)).stdout.strip() == own
        if own == "root":
            found = await sandbox().exec(["id", "-un"], user="nobody")
            assert found.stdout == "nobody\n", found
            missing = await sandbox().exec(["id", "-un"], user="nonexistent")
            assert not missing.success and "nonexistent" in missing.stderr
        else:
            with pytest.raises(SandboxUserUnsupportedError, match=own):
                await sandbox().exec(["id", "-un"], user="nobody")

    for isolation in ("bubblewrap", "none"):
        run(ask, ("seer", SeerSandboxConfig(sandbox={"provider": "local", "isolation": isolation})))
