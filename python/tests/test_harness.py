"""Agents that work in a session."""

import asyncio
import json
import os
import signal
from pathlib import Path

from seer import ConfigError, Error
from seer._engine import sessions
from seer.environment import ModelConfig, ScopedSandbox
from seer.execution import create_cli_session, create_notebook_session
from seer.harness import AgentError, run_agent
from seer.workspace import Workspace
from support import Case, Session, config, heard, said

# Of the sandboxes: nothing has to be installed for a notebook.
os.environ["SEER_PYTHON"] = os.environ["SEER_TEST_JUPYTER"]

TOOLS = """
    @expose
    def double(x: int) -> int:
        "Twice as much."
        return 2 * x
"""

# Answers one call only after another, so that the answer does not come with that to submit().
ORACLE = """
    import threading
    spoken = threading.Event()
    @expose(concurrent=True)
    def says(x: int) -> str:
        spoken.wait()
        return 'quag' + 'mire' * x
    @expose(concurrent=True)
    def speak() -> None:
        spoken.set()
"""

# Prints what it was given, and calls what is served.
AGENT = """
    import json, os, sys
    print(open(os.environ["SEER_PROMPT"]).read().strip())
    print(sorted(json.load(open(os.environ["SEER_MCP_CONFIG"]))["mcpServers"]))
    import model_tools
    print(model_tools.double(21), flush=True)
    print("to stderr", file=sys.stderr)
    open(os.environ["SEER_OUTPUTS"] + "/result", "w").write(os.environ["GREETING"])
"""


# Calls tools of its only MCP server, and prints the answer to the last one.
CLIENT = """
    import json, os, subprocess
    [server] = json.load(open(os.environ["SEER_MCP_CONFIG"]))["mcpServers"].values()
    child = subprocess.Popen(
        [server["command"], *server["args"]], env={**os.environ, **server.get("env", {})},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )
    def send(**message):
        child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + chr(10))
        child.stdin.flush()
    def answer(number):
        while True:
            got = json.loads(child.stdout.readline())
            if got.get("id") == number:
                return got
    me = {"name": "a", "version": "1"}
    send(id=0, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": me})
    answer(0)
    send(method="notifications/initialized")
    for number, (tool, arguments) in enumerate(json.loads(os.environ["CALLS"]), 1):
        send(id=number, method="tools/call", params={"name": tool, "arguments": arguments})
        last = answer(number)
    print(last["result"]["content"][0]["text"])
    child.stdin.close()
    child.wait()
"""


class TestAgent(Case):
    def agent(self, folder, text):
        (Path(folder) / "agent.py").write_text("\n".join(line[4:] for line in text.split("\n")))

    def folder(self):
        made = self.dir / "work"
        made.mkdir()
        return made

    def command(self, text, **more):
        """Runs a program of Python as an agent."""
        session = Session(self.folder())
        self.agent(session.workspace_dir, text)
        return asyncio.run(heard(**{"task": "Go.", "session": session, "provider": "command", "command": ["python3", "agent.py"], **more}))

    def test_library_and_servers(self):
        """As the documented example: all in one running loop, with its synchronous methods."""
        async def main():
            scoped = ScopedSandbox(config())
            scoped.start()
            try:
                library = scoped.serve(self.write("model_tools.py", TOOLS), expose_as="library", name="model_tools")
                servers = scoped.serve(self.write("model_tools.py", TOOLS), expose_as="mcp", name="spoken")
                session = Session(library.path)
                self.agent(library.path, AGENT)
                sessions.add(session)
                messages = await heard(
                    prompt="Double 21.", task="Work.", prompts=["More."], mcp_config={}, mcp_servers=[servers],
                    provider="command", command=["python3", "agent.py"],
                )
                self.assertEqual(said(messages), [
                    "Work.", "", "Double 21.", "", "More.", "", "There is model_tools.", "['spoken']", "42",
                ])
                self.assertEqual([str(m) for m in messages if m.type == "agent.error_output"], ["to stderr"])
                self.assertEqual([m.data for m in messages if m.type == "agent.finished"], [{"exit_code": 0}])
                self.assertEqual((library.path / "outputs" / "result").read_text(), "hello")
                session.closed = True
            finally:
                scoped.terminate()

        asyncio.run(main())

    def test_calls_and_hidden_names(self):
        """The run has a record of the calls, and is searched for the names of hidden models."""
        hidden = self.dir / "quagmire-9b"
        hidden.mkdir()
        (hidden / "config.json").write_text('{"model_type": "llama"}')
        header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        (hidden / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"four")
        scoped = self.start(ScopedSandbox, models=[ModelConfig(str(hidden), hidden=True)], network="none")
        library = scoped.serve(self.write("oracle.py", ORACLE), name="oracle")
        session = Session(library.path)
        self.agent(library.path, """
    import oracle
    job = oracle.says.submit(1)
    oracle.speak()
    print(job.result(), "[call:%s]" % job.id)
    """)
        messages = asyncio.run(heard(task="Go.", session=session, provider="command", command=["python3", "agent.py"]))
        [seen] = [m for m in messages if m.type == "end.hidden_names_seen"]
        self.assertEqual(seen.data["places"], ["once in agent.log", "once in the sandbox's answers to the agent"])
        folder = next(Path(m.data["folder"]) for m in messages if m.type == "run.started")
        calls = [json.loads(line) for line in (folder / "record" / "calls.jsonl").read_text().splitlines()]
        [call] = [c for c in calls if c["function"] == "says"]
        self.assertIn(f"[call:{call['id']}]", said(messages)[0])
        arguments = folder / "record" / "bodies" / call["arguments"][:2] / call["arguments"]
        self.assertEqual(json.loads(arguments.read_text()), {"args": [], "kwargs": {"x": 1}})
        self.assertEqual([m.data["calls"] for m in messages if m.type == "run.ended"], [2])

    def test_mcp_server_inside(self):
        """The agent starts the server of its configuration, which calls the function."""
        scoped = self.start(ScopedSandbox)
        servers = scoped.serve(self.write("model_tools.py", TOOLS), expose_as="mcp")
        session = Session(self.folder())
        messages = asyncio.run(heard(
            task="Go.", session=session, mcp_servers=servers, provider="command", command=["python3", str(self.write("agent.py", CLIENT))],
            env={"CALLS": json.dumps([("double", {"x": 21})])},
        ))
        self.assertIn("42", said(messages)[-1])

    def test_sessions(self):
        """The agent uses a whole sandbox through the MCP server of its session."""
        agent = {"provider": "command", "command": ["python3", self.write("agent.py", CLIENT)]}
        for create, mode, calls in (
            (create_notebook_session, "notebook", [
                ("start_new_session", {"experiment_name": "a"}), ("execute_code", {"code": "print(6 * 7)"}),
            ]),
            (create_cli_session, "cli", [("run_command", {"command": "echo $((6 * 7))"})]),
        ):
            with self.subTest(mode):
                session = create(self.start(execution_mode=mode), Workspace(), workspace_dir=self.dir / mode)
                messages = asyncio.run(heard(task="Compute.", session=session, env={"CALLS": json.dumps(calls)}, **agent))
                self.assertIn("42\\n", said(messages)[-1])

    def test_confined(self):
        secret = self.write("secret", "s")
        messages = self.command(f"""
    import os, socket
    print(os.path.exists({str(secret)!r}), os.environ.get("XDG_STATE_HOME"))
    try:
        socket.create_connection(("1.1.1.1", 53), 5)
    except OSError:
        print("no network")
        """)
        self.assertEqual(said(messages), ["False None", "no network"])

    def test_failure(self):
        with self.assertRaises(AgentError) as caught:
            self.command("""
    import sys
    sys.exit("no key is set")
            """)
        self.assertEqual(caught.exception.exit_code, 1)
        self.assertIn("no key is set", str(caught.exception))

    def test_much_output(self):
        """An agent waits for whoever reads slowly, and its lines arrive whole and in order."""
        messages = self.command("""
    for i in range(20000):
        print(i)
    print("x" * 200000)
        """)
        lines = said(messages)
        self.assertEqual(lines[:20000], [str(i) for i in range(20000)])
        self.assertEqual("".join(lines[20000:]), "x" * 200000)

    def test_closed(self):
        """An agent whose messages are no longer wanted ends, with what it has started."""
        folder = self.folder()
        self.agent(folder, """
    import os, subprocess, time
    subprocess.Popen(["sleep", "1000"])
    print("here", flush=True)
    while True:
        print("more", flush=True)
        """)

        async def main():
            agent = run_agent(task="Go.", session=Session(folder), provider="command", command=["python3", "agent.py"], runs_dir=None)
            async for message in agent:
                if message.native == "here":
                    break
            with self.assertRaisesRegex(Error, "another run is working"):
                await heard(task="Go.", session=Session(folder), provider="command", command=["true"])
            await agent.aclose()
            messages = await heard(task="Go.", session=Session(folder), provider="command", command=["echo", "free"])
            self.assertEqual(said(messages), ["free"])
            task = asyncio.ensure_future(heard(task="Go.", session=Session(folder), provider="command", command=["sleep", "1000"]))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(said(await heard(task="Go.", session=Session(folder), provider="command", command=["echo", "free"])), ["free"])

        asyncio.run(main())

    def test_bad_input(self):
        def wrong(kind, pattern, **more):
            with self.assertRaisesRegex(kind, pattern):
                asyncio.run(heard(**{"task": "Go.", "session": session, "provider": "command", "command": ["true"], **more}))

        session = Session(self.folder(), one={"command": "a"})
        wrong(ConfigError, "run_agent.command: must be a program", command="true")
        wrong(ConfigError, "run_agent.prompt: is missing", task="")
        wrong(ConfigError, "mcp_servers.one: is the name of two different servers", mcp_config={"one": {"command": "b"}})
        wrong(ConfigError, "mcp_servers.two: is not an entry", mcp_servers=[{"two": "b"}])
        wrong(ConfigError, "did you mean `memory`", memry="1GB")
        wrong(ConfigError, "(?s)agent.isolation.*agent.network|agent.network.*agent.isolation", isolation="x", network="y")
        wrong(Error, "no session is open", session=None)
        wrong(ConfigError, "agent.provider: unknown provider `claud`; did you mean claude", provider="claud")
        wrong(ConfigError, "agent.budget: not supported with provider command", budget=1)
        wrong(ConfigError, "agent.command\\[0\\]: .*there is no program /no/such", provider="acp", command=["/no/such"])
        wrong(ConfigError, "agent.mcp_servers.two: .*url", mcp_servers={"two": {"command": "true", "url": "http://localhost"}})
        wrong(ConfigError, "agent.mcp_servers.two: there is no program no-such", mcp_servers={"two": {"command": "no-such"}})
        wrong(ConfigError, "folder of runs .* in one another", runs_dir=session.workspace_dir / "runs")

    def test_program_is_killed(self):
        """A program of Python that is killed while its agent works takes the agent along."""
        folder = self.folder()
        child, _ = self.program(f"""
            import asyncio
            from seer.harness import run_agent
            from support import Session
            async def main():
                async for message in run_agent(task="Go.", session=Session({str(folder)!r}), provider="command", runs_dir=None,
                                               command=["sh", "-c", "echo here; exec sleep 1000"]):
                    if message.native:
                        print(message.native, flush=True)
            asyncio.run(main())
        """)
        child.send_signal(signal.SIGKILL)
        child.wait()

        async def main():  # as soon as the agent has ended
            while True:
                try:
                    return await heard(task="Go.", session=Session(folder), provider="command", command=["echo", "free"])
                except Error as e:
                    if "another run" not in str(e):
                        raise

        self.assertEqual(said(asyncio.run(asyncio.wait_for(main(), 60))), ["free"])
