"""Configurations, right and wrong."""

import os
import traceback
from pathlib import Path

from seer import ConfigError, EngineError
from seer.environment import ExecutionMode, ModelConfig, RepoConfig, Sandbox, SandboxConfig
from support import Case


class TestConfig(Case):
    def test_unknown_fields_are_told_at_once(self):
        with self.assertRaises(ConfigError) as caught:
            SandboxConfig(gppu="A100", time_out=3)
        self.assertEqual(
            str(caught.exception),
            "SandboxConfig.gppu: unknown field; did you mean gpu?\nSandboxConfig.time_out: unknown field; did you mean timeout?",
        )
        with self.assertRaisesRegex(ConfigError, "ModelConfig.nam: unknown field; did you mean name"):
            ModelConfig("org/m", nam=1)

    def test_all_mistakes_are_told_before_anything_is_made(self):
        wrong = SandboxConfig(gpu=None, execution_mode=None, cpu="x", models=[ModelConfig("a b c"), "./no such folder"], timeout="soon")
        with self.assertRaises(ConfigError) as caught:
            Sandbox(wrong).start()
        fields = [p.field for p in caught.exception.problems]
        self.assertEqual(sorted(fields), ["cpu", "models[0].name", "timeout"])
        self.assertEqual(caught.exception.kind, "config")
        self.assertIn("a duration", str(caught.exception))
        with self.assertRaisesRegex(ConfigError, "no such folder"):
            Sandbox(SandboxConfig(gpu=None, execution_mode=None, models=["./no such folder"])).start()

    def test_traceback_ends_behind_the_callers_line(self):
        try:
            Sandbox(SandboxConfig(gpu=None, cpu="x")).start()
        except ConfigError as e:
            frames = traceback.extract_tb(e.__traceback__)
        self.assertEqual({Path(f.filename).name for f in frames[1:]}, {"blocking.py"})

    def test_experiment(self):
        config = SandboxConfig(
            gpu="A100", gpu_count=2, models=[ModelConfig(name="google/gemma-2-9b", hidden=True), "org/m"],
            repos=[RepoConfig(url="org/repo", install="pip install -e .")], local_files=[(Path("a.txt"), "/data/a.txt")],
            execution_mode=ExecutionMode.CLI, timeout=3600, env={"A": "1"},
        )
        self.assertEqual(config.experiment(), {"sandbox": {
            "gpu": "A100", "gpu_count": 2, "models": [{"name": "google/gemma-2-9b", "hidden": True}, "org/m"],
            "repos": [{"url": "org/repo", "install": "pip install -e ."}], "local_files": [["a.txt", "/data/a.txt"]],
            "execution_mode": "cli", "timeout": 3600, "env": {"A": "1"},
        }})
        self.assertNotIn("execution_mode", config.experiment(scoped=True)["sandbox"])

    def test_a_gpu_unless_none_is_wanted(self):
        self.assertEqual(SandboxConfig().experiment()["sandbox"], {"gpu": "A100", "execution_mode": "notebook"})
        self.assertNotIn("gpu", SandboxConfig(gpu=None).experiment()["sandbox"])

    def test_missing_program(self):
        child, line = self.program("""
            import os
            os.environ["SEER_PROGRAM"] = "/no/such/seer"
            from support import config
            from seer import EngineError
            from seer.environment import Sandbox
            try:
                Sandbox(config()).start()
            except EngineError as e:
                print(e)
        """)
        self.assertIn("the engine cannot be started: /no/such/seer", line)
        self.assertEqual(child.wait(), 0)

    def test_program_that_is_no_engine(self):
        old = self.write("seer", "#!/bin/sh\necho 'unknown command \"engine\"' >&2\nexit 2\n")
        os.chmod(old, 0o755)
        _, line = self.program(f"""
            import os
            os.environ["SEER_PROGRAM"] = {str(old)!r}
            from support import config
            from seer import EngineError
            from seer.environment import Sandbox
            try:
                Sandbox(config()).start()
            except EngineError as e:
                print(repr(str(e)))
        """)
        self.assertIn("the engine ended", line)
        self.assertTrue(issubclass(EngineError, Exception))
