"""Sessions and what they bring."""

import asyncio
import json
import os
import subprocess
import sys

from seer import ConfigError, ConflictError, Error, NotFoundError, UnsupportedError
from seer._engine import sessions
from seer.environment import ExecutionMode, Sandbox, ScopedSandbox
from seer.execution import create_cli_session, create_local_session, create_notebook_session
from seer.harness import run_agent
from seer.workspace import Library, Skill, Workspace
from support import PATIENCE, Case, config

# Of the sandboxes: nothing has to be installed for a notebook.
os.environ["SEER_PYTHON"] = os.environ["SEER_TEST_JUPYTER"]

# In the place of the packages that load models.
TORCH = """
class dtype: pass
class cuda:
    @staticmethod
    def is_available(): return False
"""
TRANSFORMERS = """
__version__ = "5.0"
class AutoConfig:
    architectures = []
    @classmethod
    def from_pretrained(cls, path, **options): return cls()
class AutoModelForCausalLM:
    numel = dtype = device = lambda self: 0
    @classmethod
    def from_pretrained(cls, path, **options):
        made = cls()
        made.path = path
        return made
    def to(self, device): return self
    def eval(self): pass
    def parameters(self): return iter([self, self])
"""

# An agent that calls a tool of its only server, and prints what that answers.
AGENT = """
import json, os, subprocess, sys
server = list(json.load(open(os.environ["SEER_MCP_CONFIG"]))["mcpServers"].values())[0]
child = subprocess.Popen([server["command"], *server["args"]], env={**os.environ, **server.get("env", {})},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(method, **params):
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\\n")
    child.stdin.flush()
    while True:
        answer = json.loads(child.stdout.readline())
        if answer.get("id") == 1:
            return answer
ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "agent", "version": "1"})
child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\\n')
for name in sys.argv[1:]:
    code = {"code": "import helpers; print(helpers.shout(str(ready)))"} if name != "start_new_session" else {}
    print(json.dumps(ask("tools/call", name=name, arguments=code)), flush=True)
child.stdin.close()
child.wait()
"""


async def heard(**more):
    return "\n".join([m.text async for m in run_agent(task="Go.", provider="command", **more)])


class Sessions(Case):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.dir)
        self.helpers = self.write("helpers.py", "def shout(x): return x + '!'\n")

    def agent_says(self, session, *tools):
        """What an agent hears in the one session of this context."""
        (session.workspace_dir / "agent.py").write_text(AGENT)
        return asyncio.run(heard(command=["python3", "agent.py", *tools]))

    def model(self):
        (self.dir / "tiny").mkdir()
        self.write("tiny/config.json", "{}")
        return str(self.dir / "tiny")

    def workspace(self, **more):
        loaders = [Library.from_code("torch", TORCH), Library.from_code("transformers", TRANSFORMERS)]
        return Workspace(**{"libraries": [*loaders, Library.from_file(self.helpers, docs="Shouts.")], **more})


class TestCLI(Sessions):
    def test_session(self):
        (self.dir / "probing").mkdir()
        self.write("probing/SKILL.md", "---\nname: probing\ndescription: How to probe.\n---\nProbe.\n")
        self.write("numbers", "1 2 3")
        sandbox = self.start(execution_mode=ExecutionMode.CLI, models=[self.model()])
        session = create_cli_session(sandbox, self.workspace(skills=[Skill.from_dir("probing")], files=["numbers"], init="ready = 7"))
        self.assertIs(sessions.current(), session)
        self.assertEqual((session.name, session.kind, session.closed), ("cli", "cli", False))
        self.assertEqual(session.workspace_dir, self.dir.resolve() / "workspace" / sandbox.sandbox_id)
        self.assertIn("Shouts.", session.prompt)
        self.assertTrue((session.workspace_dir / ".claude/skills/probing/SKILL.md").is_file())
        self.assertEqual(sandbox.exec("cat numbers").stdout, "1 2 3")
        self.assertEqual(sandbox.exec_python("import helpers; print(helpers.shout('a'))").stdout, "a!\n")
        self.assertEqual(self.variable(sandbox, "print(model.path)"), "/models/tiny\n")
        key = session._key_file
        self.assertEqual((list(session.mcp_config), session.mcp_config["sandbox"]["args"][2]), (["sandbox"], key))
        self.assertEqual(os.stat(key).st_mode & 0o77, 0)
        with self.assertRaisesRegex(ConflictError, "has a session cli already"):
            create_cli_session(sandbox, self.workspace(), name="cli")
        with self.assertRaisesRegex(ConflictError, r"helpers.py is in the sandbox .* already, with other content"):
            create_cli_session(sandbox, Workspace([Library.from_code("helpers", "")], init="ready = 7"))
        with self.assertRaisesRegex(UnsupportedError, "was started for cli sessions"):
            create_notebook_session(sandbox)
        with create_cli_session(sandbox, self.workspace(init="ready = 7"), name="second") as second:
            self.assertIn("second in " + sandbox.sandbox_id, repr(second))
            with self.assertRaisesRegex(Error, "2 sessions are open"):
                sessions.current()
        self.assertTrue(second.closed)
        self.assertIs(sessions.current(), session)
        self.assertIn("7!", self.agent_says(session, "run_python"))
        session.close()
        session.close()
        self.assertFalse(os.path.exists(key))
        create_cli_session(sandbox, self.workspace(), name="cli")
        sandbox.terminate()
        with self.assertRaisesRegex(Error, "no session is open"):
            sessions.current()
        with self.assertRaisesRegex(NotFoundError, "has ended"):
            create_cli_session(sandbox)

    def variable(self, sandbox, code):
        """Runs code where the agent's variables are."""
        command = [os.environ["SEER_PROGRAM"], "python", sandbox.sandbox_id, "--session", "-c", code]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout

    def test_end_of_the_program(self):
        """A sandbox that lives on has room for sessions that begin otherwise."""
        child, sandbox = self.program("""
            from seer.environment import Sandbox
            from seer.execution import create_cli_session
            from seer.workspace import Workspace
            from support import config
            sandbox = Sandbox(config(execution_mode="cli")).start()
            sandbox.detach(300)
            create_cli_session(sandbox, Workspace(init="x = 1"))
            print(sandbox.sandbox_id, flush=True)
        """)
        self.assertEqual(child.wait(PATIENCE), 0)
        found = Sandbox.from_id(sandbox)
        self.addCleanup(found.terminate)
        with create_cli_session(found, Workspace(init="x = 2")) as session:
            self.assertEqual((session.name, self.variable(found, "print(x)")), ("cli", "2\n"))

    def test_aio(self):
        async def main():
            async with Sandbox(config(execution_mode="cli")) as sandbox:
                one, two = await asyncio.gather(*(create_cli_session.aio(sandbox, workspace_dir=self.dir / str(n)) for n in range(2)))
                self.assertEqual({one.name, two.name}, {"cli", "cli-2"})
                await asyncio.gather(one.close.aio(), two.close.aio())
                async with await create_cli_session.aio(sandbox) as mine:
                    self.assertIs(sessions.current(), mine)
                with self.assertRaisesRegex(ConfigError, "ZeroDivisionError"):
                    await create_cli_session.aio(sandbox, Workspace(init="1 / 0"))
                await (await create_cli_session.aio(sandbox, Workspace(init="x = 1"))).close.aio()

        asyncio.run(main())


class TestNotebook(Sessions):
    def test_session(self):
        sandbox = self.start(execution_mode=ExecutionMode.NOTEBOOK, models=[self.model()])
        with self.assertRaisesRegex(ConfigError, "NameError"):
            create_notebook_session(sandbox, self.workspace(init="no_such_name"))
        session = create_notebook_session(sandbox, self.workspace(init="ready = 7"), workspace_dir="agent", name="study")
        self.assertEqual(session.jupyter_url, sandbox.jupyter_url)
        self.assertEqual(session.mcp_config["notebook"]["env"], {"SEER_JUPYTER_URL": session.jupyter_url})
        self.assertIn(session.jupyter_url, session._repr_html_())
        self.assertEqual(session.workspace_dir, self.dir.resolve() / "agent")
        self.assertIn("`model`", session.prompt)
        self.assertIn("7!", self.agent_says(session, "start_new_session", "execute_code"))
        self.assertTrue(list((session.workspace_dir / "outputs").glob("*.ipynb")))
        log = [json.loads(line) for line in (self.dir / "runs" / "latest" / "events.jsonl").read_text().splitlines()]
        made = {e["type"]: e["data"] for e in log if e["type"] in ("run.model", "run.packages")}
        self.assertEqual((made["run.packages"]["sandbox"], made["run.model"]["source"]), (sandbox.sandbox_id, "folder"))
        self.assertIn("ipykernel", [p["name"] for p in made["run.packages"]["packages"]])


class TestLocal(Sessions):
    def test_nothing(self):
        session = create_local_session()
        self.assertEqual((session.prompt, session.mcp_config), ("", {}))
        self.assertEqual(session.workspace_dir, self.dir.resolve() / "workspace")
        session.close()
        with self.assertRaisesRegex(UnsupportedError, "init"):
            create_local_session(Workspace(init="x = 1"))

    def test_with_functions(self):
        tools = self.write("interface.py", "@expose\ndef double(x: int) -> int:\n    'Twice as much.'\n    return 2 * x\n")
        scoped = self.start(ScopedSandbox)
        model_tools = scoped.serve(str(tools), name="model_tools")
        workspace = Workspace(libraries=[Library.from_file(self.helpers), model_tools])
        session = create_local_session(workspace=workspace, workspace_dir=str(self.dir / "its"), name="example")
        self.assertEqual(session.name, "example")
        self.assertIn("double(", session.prompt)
        agent = [sys.executable, "-c", "import helpers, model_tools; print(helpers.shout(str(model_tools.double(21))))"]
        said = subprocess.run(agent, cwd=session.workspace_dir, env={**os.environ, **session.env}, stdout=subprocess.PIPE, text=True)
        self.assertEqual(said.stdout, "42!\n")
        self.assertEqual(asyncio.run(heard(command=["python3", *agent[1:]])).count("42!"), 1)
        session.close()
        again = create_local_session(workspace=workspace, workspace_dir=str(self.dir / "its"))
        again.close()
        (self.dir / "its" / "helpers.py").write_text("changed")
        with self.assertRaisesRegex(ConflictError, '"helpers.py" would be replaced'):
            create_local_session(workspace=workspace, workspace_dir=str(self.dir / "its"))
        cli = self.start(execution_mode="cli")
        with self.assertRaises(ConfigError) as caught:
            create_cli_session(cli, workspace)
        self.assertRegex(str(caught.exception), r"Workspace.libraries\[1\]: the library model_tools calls the sandbox sb-")


class TestMistakes(Sessions):
    def test_all_at_once(self):
        with self.assertRaises(ConfigError) as caught:
            create_local_session(Workspace(libraries=[7, "helpers.py"], skills="a skill", files=[None], init=3))
        self.assertEqual([p.field for p in caught.exception.problems],
                         ["Workspace.libraries[0]", "Workspace.skills", "Workspace.files[0]", "Workspace.init"])
        with self.assertRaisesRegex(ConfigError, "libary: unknown field; did you mean libraries"):
            Workspace(libary=[])
        for wrong in ({"workspace": {}}, {"name": "a/b"}):
            with self.assertRaises(ConfigError):
                create_local_session(**wrong)
        with self.assertRaisesRegex(ConfigError, "must be a Sandbox, not str"):
            create_notebook_session("sb-x")
        with self.assertRaisesRegex(ConfigError, r"(?s)no-such.py.*import os|no-such.*\n.*standard library"):
            create_local_session(Workspace([Library.from_file("no-such.py"), Library.from_code("os", "")]))
        with self.assertRaisesRegex(Error, "not started"):
            create_cli_session(Sandbox(config(execution_mode="cli")))

    def test_sources(self):
        (self.dir / "package").mkdir()
        self.write("package/__init__.py", "two = 2\n")
        (self.dir / "steer").mkdir()
        self.write("steer/SKILL.md", "---\nname: steer\ndescription: How to steer.\n---\nTurn the wheel.\n")
        self.write("steer/code.py", "three = 3\n")
        (self.dir / "skills").mkdir()
        session = create_local_session(Workspace(libraries=[
            Library("helpers.py", name="renamed"), "package", Library.from_directory("package", name="second"),
            Library.from_skill_dir("steer"), Library.from_code("four", "four = 4\n"),
        ]))
        self.assertIn("Turn the wheel.", session.prompt)
        code = "import renamed, package, second, steer, four, json; print(json.dumps([package.two, second.two, steer.three, four.four]))"
        said = subprocess.run([sys.executable, "-B", "-c", code], cwd=session.workspace_dir, stdout=subprocess.PIPE, text=True)
        self.assertEqual(json.loads(said.stdout), [2, 2, 3, 4])
        session.close()
