"""Agents that Seer knows: Claude Code's stream and the Agent Client Protocol, by fakes that a user could have written."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from seer import ConfigError
from seer._engine.process import program
from seer.harness import AgentError, run_agent
from support import Case, Session, heard, said

os.environ["ANTHROPIC_API_KEY"] = "the real key"
os.environ["LAB_TOKEN"] = "a secret"
for name in ("ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
    os.environ.pop(name, None)

# Prints a stream as Claude Code does, and asks its language model once for each line of its prompt.
CLAUDE = """
    import json, os, sys, urllib.error, urllib.request
    flags = dict(a[2:].partition("=")[::2] for a in sys.argv[1:] if a.startswith("--"))
    def out(**message):
        print(json.dumps(message), flush=True)
    def ask(text):
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
            {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json", "anthropic-version": "2023-06-01"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["content"][0]["text"]
    out(type="system", subtype="init", model="claude-sonnet-4-5")
    servers = json.load(open(flags["mcp-config"]))["mcpServers"]
    skills = os.listdir(".claude/skills") if os.path.isdir(".claude/skills") else []
    seen = {"servers": servers, "skills": skills, "model": flags.get("model"), "turns": flags.get("max-turns"),
            "tools": flags.get("tools"), "last": sys.argv[-1], "token": os.environ.get("LAB_TOKEN"), "home": os.listdir(os.environ["HOME"]),
            "key": os.environ["ANTHROPIC_API_KEY"]}
    out(type="assistant", message={"id": "m1", "content": [{"type": "text", "text": json.dumps(seen)}]})
    out(type="assistant", message={"content": [{"type": "thinking", "thinking": "Hm."}]})
    out(type="assistant", message={"content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]})
    out(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "files"}]})
    out(type="from the future", x=1)
    try:
        for line in sys.stdin.read().splitlines():
            out(type="assistant", message={"content": [{"type": "text", "text": line + ": " + ask(line)}]})
    except urllib.error.HTTPError as e:
        out(type="result", subtype="success", is_error=True, result=json.load(e)["error"]["message"])
        sys.exit(1)
    open("outputs/result", "w").write("made")
    out(type="result", subtype="success", is_error=False, result="done", stop_reason="end_turn", num_turns=2,
        usage={"input_tokens": 1, "output_tokens": 1}, total_cost_usd=7)
"""

# Speaks the Agent Client Protocol: what it does is in its prompt.
ACP = """
    import json, signal, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a turn is cancelled by the protocol
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    def send(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
    def update(kind, **fields):
        send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": kind, **fields}})
    def text(t):
        update("agent_message_chunk", content={"type": "text", "text": t})
    for line in sys.stdin:
        got = json.loads(line)
        method = got.get("method")
        if method == "initialize":
            send(id=got["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            new = got["params"]
            send(id=got["id"], result={"sessionId": "s"})
        elif method == "session/prompt":
            turn = got["id"]
            asked = got["params"]["prompt"][0]["text"].split()[0]
            if asked == "wait":
                text("waiting")
                continue
            if asked == "much":
                for n in range(5000):
                    text(str(n))
            text("in " + new["cwd"] + " with")
            text(" " + " ".join(s["name"] for s in new["mcpServers"]))
            update("plan", entries=[{"content": "look", "priority": "high", "status": "pending"}])
            update("something_new", x=1)
            options = [{"optionId": "no", "kind": "reject_once", "name": "No"}, {"optionId": "yes", "kind": "allow_once", "name": "Yes"}]
            send(id="p", method="session/request_permission",
                 params={"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "rm"}, "options": options})
        elif got.get("id") == "p":
            text(got["result"]["outcome"]["optionId"])
            send(id=turn, result={"stopReason": "end_turn"})
        elif method == "session/cancel":
            open("outputs/cancelled", "w").close()
            send(id=turn, result={"stopReason": "cancelled"})
"""


def of(messages, kind):
    return [m.data for m in messages if m.type == kind]


class TestAgents(Case):
    def setUp(self):
        super().setUp()
        self.folder = self.dir / "work"
        self.folder.mkdir()
        self.session = Session(self.folder)

    def model(self, script):
        """Starts a scripted model, and returns its address."""
        path = self.write("script.yaml", script)
        child = subprocess.Popen([program(), "agent", "mock", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.terminate)
        return child.stdout.readline().strip()

    def claude(self, script="{turns: [{say: a, usage: {input: 1000, output: 100}}, {say: b}]}", **more):
        os.environ["SEER_AGENT_CLAUDE"] = shlex.join([sys.executable, str(self.write("fake claude.py", CLAUDE))])
        self.addCleanup(os.environ.pop, "SEER_AGENT_CLAUDE")
        return asyncio.run(heard(**{"prompt": "First.", "session": self.session, "base_url": self.model(script), **more}))

    def test_program_that_cannot_be_read(self):
        """The mistake is in the variable, and the error names it."""
        os.environ["SEER_AGENT_CLAUDE"] = "claude 'a"
        self.addCleanup(os.environ.pop, "SEER_AGENT_CLAUDE")
        with self.assertRaisesRegex(ConfigError, "SEER_AGENT_CLAUDE.*No closing quotation"):
            asyncio.run(heard(prompt="x", session=self.session))

    def acp(self, prompt, **more):
        return run_agent(**{
            "prompt": prompt, "session": self.session, "provider": "acp", "runs_dir": None,
            "command": [sys.executable, self.write("agent.py", ACP)], **more,
        })

    def runs(self):
        done = subprocess.run([program(), "runs", "ls", "--json", str(self.dir / "runs")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        return found["runs"] if isinstance(found, dict) else found

    def test_claude(self):
        """What the agent gets, and what the caller hears of it."""
        (self.dir / "probing").mkdir()
        (self.dir / "probing" / "SKILL.md").write_text("---\nname: probing\ndescription: How to probe.\n---\nProbe.\n")
        server = self.write("server.py", "")
        messages = self.claude(
            model="claude-sonnet-4-5", max_turns=7, tools=["Read", "Bash"], args=["--last"], secrets=["LAB_TOKEN"],
            skills=[self.dir / "probing"], mcp_servers={"mine": {"command": sys.executable, "args": [str(server)], "env": {"A": "B"}}},
        )
        seen = json.loads(of(messages, "agent_message_chunk")[0]["content"]["text"])
        [(name, mine)] = seen["servers"].items()  # it runs below a program of Seer's, which notices if it does not start
        self.assertEqual((name, mine["args"][:1], mine["args"][-2:], mine["env"]),
                         ("mine", ["agent-inside"], [sys.executable, str(server)], {"A": "B"}))
        self.assertEqual([seen[k] for k in ("skills", "model", "turns", "tools", "last", "token")],
                         [["probing"], "claude-sonnet-4-5", "7", "Read,Bash", "--last", "a secret"])
        self.assertNotIn("real", seen["key"])
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "outputs"])

        texts = [m.text for m in messages if m.type == "agent_message_chunk"]
        self.assertEqual(texts[1:], ["First.: a", ": a", "There is model_tools.: a"])
        self.assertEqual(of(messages, "agent_thought_chunk")[0]["content"]["text"], "Hm.")
        [call] = of(messages, "tool_call")
        self.assertEqual((call["toolCallId"], call["title"], call["kind"], call["rawInput"]), ("t1", "Bash", "execute", {"command": "ls"}))
        [answer] = of(messages, "tool_call_update")
        self.assertEqual((answer["toolCallId"], answer["status"]), ("t1", "completed"))
        [native] = [json.loads(m.native) for m in messages if m.type == "tool_call"]
        self.assertEqual(native["message"]["content"][0]["name"], "Bash")
        self.assertIn("from the future", [d.get("type") for d in of(messages, "unknown")])
        self.assertEqual(of(messages, "agent.turn_ended"), [{"reason": "end_turn"}])

        asked = of(messages, "agent.model_request")
        self.assertEqual([(r["number"], r["input_tokens"]) for r in asked], [(1, 1000), (2, 1000), (3, 1000)])
        [end] = of(messages, "run.ended")
        self.assertEqual((end["state"], end["exit_code"], end["files"]), ("finished", 0, 0))
        self.assertAlmostEqual(end["model_usd"], 3 * (1000 * 3 + 100 * 15) / 1e6)
        self.kept(messages, end["model_usd"])

    def kept(self, messages, cost):
        """The folder of the run."""
        [start] = of(messages, "run.started")
        folder = Path(start["folder"])
        self.assertEqual(folder.parent, self.dir / "runs")
        self.assertEqual((self.dir / "runs" / "latest").resolve(), folder.resolve())
        self.assertEqual((folder / "prompt.md").read_text(), "First.\n\nThere is model_tools.\n")
        resolved = json.loads((folder / "resolved.json").read_text())
        self.assertEqual((resolved["name"], resolved["agent"]["provider"], resolved["agent"]["max_turns"]), ("test", "claude", 7))
        self.assertNotIn("env", resolved["agent"]["mcp_servers"]["mine"])
        self.assertNotIn("the real key", (folder / "events.jsonl").read_text())
        artifacts = {a["path"]: a["kind"] for a in of(messages, "run.artifact")}
        self.assertEqual(artifacts.pop(str(self.folder / "outputs" / "result")), "output")
        self.assertEqual(artifacts, {"prompt.md": "prompt", "resolved.json": "resolved", "agent.log": "log"})
        self.assertEqual((self.folder / "outputs" / "result").read_text(), "made")
        [run] = self.runs()
        self.assertEqual((run["state"], run["experiment"], run["provider"]), ("finished", "test", "claude"))
        self.assertAlmostEqual(run["model_usd"], cost)

    def test_budget(self):
        with self.assertRaises(AgentError) as caught:
            self.claude("{turns: [{say: a, usage: {input: 1000000}}]}", budget=0.5, runs_dir=None)
        self.assertEqual((caught.exception.exit_code, caught.exception.reason), (1, "error"))
        self.assertIn("the budget of this run is spent", str(caught.exception))
        self.assertFalse((self.dir / "runs").exists())

    def test_acp(self):
        async def main():
            return [m async for m in self.acp("go", mcp_servers={"mine": {"command": "true"}})]

        messages = asyncio.run(main())
        self.assertEqual("".join(m.text for m in messages if m.type == "agent_message_chunk"), f"in {self.folder} with mineyes")
        self.assertEqual(of(messages, "plan")[0]["entries"][0]["content"], "look")
        self.assertEqual(of(messages, "something_new")[0]["x"], 1)
        self.assertEqual(messages[-1].type, "agent.finished")

    def test_much(self):
        """More updates than the engine sends ahead."""
        async def main():
            return [m.text async for m in self.acp("much") if m.type == "agent_message_chunk"]

        self.assertEqual(asyncio.run(main())[:5000], [str(n) for n in range(5000)])

    def test_closed(self):
        """A turn is cancelled as the protocol has it; the run that was stopped is kept as one."""
        async def main():
            agent = self.acp("wait", runs_dir=self.dir / "runs")
            async for message in agent:
                if message.text == "waiting":
                    break
            await agent.aclose()

        asyncio.run(main())
        self.assertTrue((self.folder / "outputs" / "cancelled").exists())
        self.assertEqual([r["state"] for r in self.runs()], ["stopped"])

    def test_timeout(self):
        from seer import TimeoutError

        async def main():
            async for _ in self.acp("wait", timeout=1):
                pass

        with self.assertRaisesRegex(TimeoutError, "agent.timeout"):
            asyncio.run(main())

    def test_missing(self):
        def wrong(pattern, **more):
            with self.assertRaisesRegex(ConfigError, pattern):
                asyncio.run(heard(task="Go.", session=self.session, **more))

        wrong("agent.provider: Gemini CLI: there is no program gemini in .*npm install", provider="gemini")
        wrong("agent.provider: Codex has no key for its language model: OPENAI_API_KEY is not set", provider="codex", command=["python3"])
        wrong("agent.secrets\\[0\\]: the secret `NO_SUCH` is not set", provider="command", command=["true"], secrets=["NO_SUCH"])
        wrong("agent.model: opencode has no model", provider="opencode", command=["python3"], base_url="http://localhost:1")
        self.assertEqual(said([]), [])
        self.assertFalse((self.dir / "runs").exists())
