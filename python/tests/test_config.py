"""Configurations, right and wrong."""

import json
import os
import subprocess
from dataclasses import fields
from pathlib import Path

from seer import ConfigError, EngineError, UnauthorizedError
from seer.environment import (
    ExecutionMode,
    ExperimentConfig,
    ModelConfig,
    RepoConfig,
    Sandbox,
    SandboxConfig,
    ScopedSandbox,
    setup_environment,
)
from seer.execution import create_cli_session
from support import Case, config

for name in [n for n in os.environ if n.startswith(("MODAL_", "RUNPOD_"))]:
    del os.environ[name]  # nothing may be rented here


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

    def mistakes(self, work, *args, **kwargs):
        with self.assertRaises(ConfigError) as caught:
            work(*args, **kwargs)
        return [str(p) for p in caught.exception.problems]

    def test_missing_fields_and_wrong_types_are_told_with_unknown_ones(self):
        self.assertEqual(self.mistakes(ModelConfig), ["ModelConfig.name: is missing"])
        wrong = {"gppu": "A100", "cpu": object(), "python_packages": {"torch"}, "env": {"A": 1}, "secrets": ["A", 2]}
        self.assertEqual(self.mistakes(SandboxConfig, **wrong), [
            "SandboxConfig.gppu: unknown field; did you mean gpu?",
            "SandboxConfig.cpu: must be a number, not object",
            "SandboxConfig.python_packages: must be a list of texts, not set",
            "SandboxConfig.env.A: must be a text, not int",
            "SandboxConfig.secrets[1]: must be a text, not int",
        ])

    def test_values_that_json_does_not_have(self):
        """One error has them and the mistakes that the engine finds."""
        wrong = config(
            cpu=object(), python_packages={"torch"}, memory=float("nan"), timeout="soon", provider_options={"local": {"a": {1}}},
            models=[ModelConfig(name=7), ModelConfig("a b c"), ModelConfig("org/m", include={"*"})],
        )
        self.assertEqual(sorted(m.split(";")[0] for m in self.mistakes(Sandbox(wrong).start)), [
            "cpu: must be a number, not object",
            "memory: has a value that cannot be in a configuration: nan",
            "models[0].name: expected a string, got the number `7`",
            "models[1].name: `a b c` is not a model",
            "models[2].include: must be a list of texts, not set",
            "provider_options: has a value that cannot be in a configuration: set",
            "python_packages: must be a list of texts, not set",
            "timeout: expected a duration, got the string `soon`",
        ])
        with self.assertRaisesRegex(ConfigError, "cpu: must be a number, not object"):
            config(cpu=object()).experiment()
        for f in fields(SandboxConfig):  # nothing starts with any of them
            with self.subTest(f.name):
                [problem] = self.mistakes(Sandbox(config(**{f.name: object()})).start)
                self.assertTrue(problem.startswith(f"{f.name}: must be "), problem)

    def test_arguments_of_wrong_types(self):
        sandbox = ScopedSandbox(config())
        for want, work, args, kwargs in (
            (["config: must be a SandboxConfig, not dict", "name: must be a text, not int", "progress: must be a function, not str"],
             Sandbox, ({"gpu": "A100"}, 7, "all"), {}),
            (["config: must be a SandboxConfig, not str"], Sandbox, ("A100",), {}),
            (["max_wait: must be a number of seconds from 0 on, not -1"], Sandbox, (), {"max_wait": -1}),
            (["max_wait: must be a number of seconds from 0 on, not '2h'"], Sandbox, (), {"max_wait": "2h"}),
            (["max_wait: must be a number of seconds from 0 on, not nan"], Sandbox, (), {"max_wait": float("nan")}),
            (["from_file.path: must be a path, not int"], Sandbox.from_file, (7,), {}),
            (["from_id.sandbox: must be a text, not Sandbox"], Sandbox.from_id, (Sandbox(),), {}),
            (["setup_environment.config: must be an ExperimentConfig, not str"], setup_environment, ("config.yaml",), {}),
            (["gpu: must be a GPUConfig, not str", "models: must be a list of ModelConfigs or texts, not str"],
             setup_environment, (ExperimentConfig(gpu="A100", models="org/m"),), {}),
            (["exec.cmd: must be a text or a list of texts, not int"], sandbox.exec, (7,), {}),
            (["exec.cmd[1]: must be a text, not int", "exec.env.A: must be a text, not int", "exec.timeout: must be a number, not str"],
             sandbox.exec, (["echo", 1],), {"env": {"A": 1}, "timeout": "x"}),
            (["exec_python.code: must be a text, not int"], sandbox.exec_python, (3,), {}),
            (["write_file.content: must be a text or bytes, not int"], sandbox.write_file, ("p", 3), {}),
            (["snapshot.description: must be a text, not int", "snapshot.memory: must be True or False, not str"],
             sandbox.snapshot, (3,), {"memory": "yes"}),
            (["serve.file: must be a text or a path, not int", "serve.options: must be a dictionary, not list"],
             sandbox.serve, (7,), {"options": []}),
            (["create_cli_session.sandbox: must be a Sandbox, not int", "create_cli_session.workspace: must be a Workspace, not dict"],
             create_cli_session, (3, {}), {}),
        ):
            with self.subTest(want[0]):
                self.assertEqual([m.split(";")[0] for m in self.mistakes(work, *args, **kwargs)], want)
        with self.assertRaisesRegex(TypeError, r"exec\(\) missing 1 required positional argument: 'cmd'"):
            sandbox.exec()

    def test_fields_are_those_of_an_experiment(self):
        known = json.loads(subprocess.run([os.environ["SEER_PROGRAM"], "config", "schema"], stdout=subprocess.PIPE, check=True).stdout)
        sandbox = known["properties"]["sandbox"]["properties"]
        self.assertEqual({f.name for f in fields(SandboxConfig)}, set(sandbox))
        [model] = [s for s in sandbox["models"]["items"]["anyOf"] if "properties" in s]
        self.assertEqual({f.name for f in fields(ModelConfig)}, set(model["properties"]))

    def test_secrets_and_credentials(self):
        self.assertEqual(self.mistakes(Sandbox(config(secrets=["NO_SUCH"])).start),
                         ["secrets[0]: the secret `NO_SUCH` is not set; set it in the environment or in .env"])
        os.environ["NO_SUCH"] = "later"
        self.addCleanup(os.environ.pop, "NO_SUCH")
        [late] = self.mistakes(Sandbox(config(secrets=["NO_SUCH"])).start)
        self.assertIn("it was set after the engine started", late)
        with self.assertRaisesRegex(UnauthorizedError, "set MODAL_TOKEN_ID"):
            Sandbox(SandboxConfig(provider="modal", timeout=60)).start()
        with self.assertRaisesRegex(UnauthorizedError, "set RUNPOD_API_KEY"):
            Sandbox(SandboxConfig(provider="runpod", timeout=60)).start()

    def test_environment_after_the_import(self):
        _, line = self.program("""
            import os
            from support import config
            from seer.environment import Sandbox
            os.environ["LATE"] = "as a secret"
            with Sandbox(config(secrets=["LATE"])) as sandbox:
                print(sandbox.exec("echo $LATE | rev").stdout, flush=True)
        """)
        self.assertEqual(line, "terces a sa")  # a secret as it is would be taken out

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

    def test_no_program(self):
        _, line = self.program("""
            import os
            del os.environ["SEER_PROGRAM"]
            os.environ["PATH"] = "/nowhere"
            from support import config
            from seer import EngineError
            from seer.environment import Sandbox
            try:
                Sandbox(config()).start()
            except EngineError as e:
                print(e)
        """)
        self.assertRegex(line, "neither in this package nor in the PATH; install the wheel for this system, or set SEER_PROGRAM")

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
