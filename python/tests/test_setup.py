"""Experiments whose sandbox is a stage of its own."""

import asyncio
import json
import os
import urllib.request

from seer import ConfigError
from seer.config.parser import load_config
from seer.environment import (
    ExecutionMode,
    ExperimentConfig,
    GPUConfig,
    ModelConfig,
    RepoConfig,
    setup_environment,
)
from support import Case, states

# Of the sandboxes: nothing has to be installed for a notebook.
os.environ["SEER_PYTHON"] = os.environ["SEER_TEST_JUPYTER"]

SMALL = {"provider": "local", "execution_mode": None, "timeout": 600}


class TestLoadConfig(Case):
    def test_staged_form(self):
        file = self.write("config.yaml", """
            name: "my-experiment"
            gpu:
              gpu_type: "A100-80GB"
              gpu_count: 2
              use_model_volumes: true
            models:
              - name: "google/gemma-2-9b-it"
                device: "auto"
                dtype: "bfloat16"
            github_repos:
              - "myorg/my-research-code"
        """)
        config = load_config(file)
        self.assertEqual(config.name, "my-experiment")
        self.assertEqual(config.gpu, GPUConfig("A100-80GB", 2, True))
        self.assertIsNone(config.image)
        self.assertEqual([(m.name, m.device, m.dtype) for m in config.models], [("google/gemma-2-9b-it", "auto", "bfloat16")])
        self.assertEqual(config.github_repos, [RepoConfig("myorg/my-research-code")])
        made = config.sandbox_config()
        self.assertEqual((made.gpu, made.gpu_count, made.execution_mode), ("A100-80GB", 2, ExecutionMode.NOTEBOOK))
        self.assertEqual([v.models for v in made.volumes], [True])

    def test_canonical_form(self):
        file = self.write("seer.yaml", """
            name: other
            sandbox:
              provider: local
              timeout: 10m
              image: {base: "python:3.12-slim"}
              volumes: [{name: weights, path: /weights}]
              models: [org/model]
            serve: [{file: interface.py}]
        """)
        config = load_config(str(file))
        self.assertEqual((config.gpu, config.image.base), (GPUConfig(None, 1, False), "python:3.12-slim"))
        self.assertEqual([config.sandbox[k] for k in ("timeout", "provider", "network")], [600, "local", "open"])
        self.assertEqual(config.others["serve"][0]["file"], "interface.py")
        made = config.sandbox_config()
        self.assertEqual([v.name for v in made.volumes], ["weights"])
        self.assertEqual([m.name for m in made.models], ["org/model"])
        self.assertEqual(made.image, config.image)

    def test_mistakes(self):
        file = self.write("config.yaml", "gpu: {gpu_typ: A100}\nmodels: [{nme: a}]\n")
        with self.assertRaises(ConfigError) as caught:
            load_config(file)
        self.assertIn("did you mean `gpu_type`", str(caught.exception))
        self.assertGreaterEqual(len(caught.exception.problems), 2)
        self.assertEqual([(p.file, p.line) for p in caught.exception.problems], [(str(file), 1), (str(file), 2), (str(file), 2)])
        self.assertIn(f"{file}:2: models[0]: unknown key `nme`", str(caught.exception))
        with self.assertRaises(ConfigError) as caught:
            load_config(self.dir / "none.yaml")
        self.assertTrue(str(caught.exception).startswith(f"{self.dir / 'none.yaml'}: there is no such file"), caught.exception)
        with self.assertRaisesRegex(ConfigError, "GPUConfig.gpu_typ: unknown field; did you mean gpu_type"):
            GPUConfig(gpu_typ="A100")
        twice = ExperimentConfig(sandbox={"gpu": "A100", "models": ["org/m"], "timeout": 600})
        with self.assertRaises(ConfigError) as caught:
            setup_environment(twice)
        self.assertEqual([p.field for p in caught.exception.problems], ["sandbox.gpu", "sandbox.models"])
        with self.assertRaisesRegex(ConfigError, "SandboxConfig.time_out: unknown field; did you mean timeout"):
            setup_environment(ExperimentConfig(sandbox={"time_out": 1}))


class TestSetup(Case):
    def test_handle(self):
        model = self.dir / "tiny"
        model.mkdir()
        (model / "notes.txt").write_text("not a model that could be loaded")
        file = self.write("config.yaml", "name: staged\nmodels: [./tiny]\n")
        experiment = load_config(file)
        experiment.sandbox.update(provider="local", timeout=600)
        handle = setup_environment(experiment)
        self.addCleanup(handle.sandbox.terminate)
        self.assertEqual((handle.sandbox.sandbox_id, handle.status), (handle.sandbox_id, "running"))
        self.assertIs(handle.experiment_config, experiment)
        self.assertIn(str(handle.jupyter_port), handle.jupyter_url)
        self.assertIn(handle.jupyter_token, handle.jupyter_url)
        self.assertEqual(self.jupyter(handle, "sessions"), [])
        path = handle.sandbox.model_handles[0].path
        self.assertIn("not a model", handle.sandbox.exec(["cat", path + "/notes.txt"]).stdout)
        handle._client.terminate_sandbox(handle.sandbox_id)
        handle._client.terminate_sandbox(handle.sandbox_id)
        self.assertNotEqual(states()[handle.sandbox_id], "running")

    def jupyter(self, handle, what):
        base = handle.jupyter_url.split("?")[0].rstrip("/")
        for page in ("/lab", "/tree"):
            base = base[: -len(page)] if base.endswith(page) else base
        request = urllib.request.Request(f"{base}/api/{what}", headers={"Authorization": "token " + handle.jupyter_token})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def test_in_a_running_loop(self):
        async def main():
            experiment = ExperimentConfig(models=[], sandbox=SMALL)
            with self.assertRaisesRegex(ConfigError, "there is no `"):
                await setup_environment.aio(ExperimentConfig(models=[ModelConfig("./none")], sandbox=SMALL))
            handle = setup_environment(experiment)
            self.assertIsNone(handle.jupyter_url)
            await handle._client.terminate_sandbox.aio(handle.sandbox_id)

        asyncio.run(main())
