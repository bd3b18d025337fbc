"""A sandbox from its start to its end."""

import asyncio
import os

from seer import Error, NotFoundError, UnsupportedError
from seer.environment import CommandError, Sandbox
from support import Case, config, states


class TestSandbox(Case):
    def test_commands_and_files(self):
        heard = []
        with Sandbox(config(), progress=lambda event, text: heard.append(text)) as sandbox:
            result = sandbox.exec("echo out; echo err >&2; exit 3")
            self.assertEqual((result.exit_code, result.stdout, result.stderr), (3, "out\n", "err\n"))
            with self.assertRaisesRegex(CommandError, "ended with 3:\nerr"):
                sandbox.exec("echo err >&2; exit 3", check=True)
            self.assertEqual(sandbox.exec(["cat"], input="in é").stdout, "in é")
            self.assertTrue(sandbox.exec("sleep 100", timeout=0.1).timed_out)
            self.assertEqual(str(sandbox.exec_python("print(6 * 7)")), "42\n")
            sandbox.ensure_dir("/workspace/a b")
            sandbox.write_file("/workspace/a b/é", "text")
            self.assertEqual(sandbox.read_file("/workspace/a b/é"), b"text")
            big = self.dir / "big"
            big.write_bytes(os.urandom(20 << 20))
            sandbox.upload(big, "/workspace/big")
            sandbox.download("/workspace/big", self.dir / "back")
            self.assertEqual((self.dir / "back").read_bytes(), big.read_bytes())
            sandbox.write_file("/workspace/large", big.read_bytes())
            self.assertEqual(sandbox.exec("cmp large big && stat -c %a large").stdout, "644\n")
            self.assertEqual(sandbox.read_file("/workspace/large"), big.read_bytes())
            self.assertIn("model name", sandbox.read_file("/proc/cpuinfo").decode())
            for wrong, said in (("/workspace/none", "none"), ("/workspace/a b", "is a folder and cannot be read")):
                with self.assertRaisesRegex(Error, said):
                    sandbox.read_file(wrong)
            with self.assertRaisesRegex(UnsupportedError, "isolation: gvisor and network: none"):
                sandbox.fork()
            self.assertIn(sandbox.sandbox_id, repr(sandbox))
            self.assertIn(sandbox.sandbox_id, sandbox._repr_html_())
            self.assertIsNone(sandbox.jupyter_url)
            self.assertEqual(sandbox.model_handles, [])
            identity = sandbox.sandbox_id
        self.assertNotEqual(states()[identity], "running")
        self.assertTrue(any("is ready" in text for text in heard), heard)
        sandbox.terminate()  # a second time

    def test_in_a_running_loop(self):
        async def main():
            sandbox = Sandbox(config()).start()  # waits, and nests no loop
            async with sandbox:
                found = await Sandbox.from_id.aio(sandbox.sandbox_id)
                one, two = await asyncio.gather(sandbox.exec.aio("echo 1"), found.exec.aio("echo 2"))
                self.assertEqual((one.stdout, two.stdout), ("1\n", "2\n"))
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(sandbox.exec.aio("echo $$ > pid; exec sleep 1000"), 1)
                self.assertEqual(sandbox.exec("while kill -0 $(cat pid) 2>/dev/null; do sleep 0.1; done", timeout=60).exit_code, 0)

        asyncio.run(main())

    def test_models_and_snapshots(self):
        folder = self.dir / "tiny"
        folder.mkdir()
        (folder / "weights.txt").write_text("1 2 3")
        sandbox = self.start(models=[str(folder)])
        self.assertEqual(sandbox.exec(["cat", sandbox.model_handles[0].path + "/weights.txt"]).stdout, "1 2 3")
        sandbox.write_file("/workspace/notes", "kept")
        saved = sandbox.snapshot("After set-up!")
        self.assertRegex(saved.name, r"^after-set-up-\d{8}-\d{6}-")
        again = asyncio.run(self.awaited(Sandbox.from_snapshot.aio, saved, config(models=[str(folder)])))
        self.addCleanup(again.terminate)
        self.assertEqual(again.read_file("/workspace/notes"), b"kept")
        found = Sandbox.from_id(again.sandbox_id)
        self.assertEqual(found.read_file("/workspace/notes"), b"kept")
        with self.assertRaises(NotFoundError):
            Sandbox.from_id("sb-none")
        with self.assertRaisesRegex(Error, "was started before"):
            again.start()
        with self.assertRaisesRegex(Error, "was not started"):
            _ = Sandbox(config()).sandbox_id

    async def awaited(self, work, *args):
        return await work(*args)

    def test_from_file(self):
        self.write("here.txt", "of the folder of the file")
        file = self.write("seer.yaml", """
            name: of-a-file
            sandbox:
              provider: local
              timeout: 10m
              env: {GREETING: hello}
              local_files: [[here.txt, /workspace/there.txt]]
        """)
        with Sandbox.from_file(file, name="named") as sandbox:
            self.assertEqual(sandbox.exec("cat there.txt; echo $GREETING").stdout, "of the folder of the filehello\n")
            self.assertEqual(Sandbox.from_id("named").sandbox_id, sandbox.sandbox_id)

    def test_many_at_once(self):
        async def main():
            sandboxes = await asyncio.gather(*(Sandbox(config()).start.aio() for _ in range(8)))
            try:
                said = await asyncio.gather(*(s.exec.aio("echo $SEER_MACHINE") for s in sandboxes))
                self.assertEqual(len({r.stdout for r in said}), 8)
            finally:
                await asyncio.gather(*(s.terminate.aio() for s in sandboxes))

        asyncio.run(main())

    def test_method_in_progress(self):
        said = []

        def hear(event, text):
            if not said:
                with self.assertRaises(Error) as caught:
                    Sandbox.from_id("sb-none")
                said.append(str(caught.exception))

        with Sandbox(config(), progress=hear):
            self.assertIn("cannot wait", said[0])
