"""A whole sandbox, as the documentation of the environment has it, block by block."""

import urllib.request
from pathlib import Path

from common import GIT, GPU, PROVIDER, VSCODE
from seer.environment import ExecutionMode, ModelConfig, RepoConfig, Sandbox, SandboxConfig
from seer.errors import ConfigError

# A notebook with a model.
config = SandboxConfig(
    gpu=GPU,
    execution_mode=ExecutionMode.NOTEBOOK,
    models=[ModelConfig(name="google/gemma-2-2b-it")],
    python_packages=["torch", "transformers"],
)
sandbox = Sandbox(config).start()
assert sandbox.exec("echo a shell").stdout == "a shell\n"
assert sandbox.exec_python("import torch; print(torch.cuda.is_available())").stdout in ("False\n", "True\n")
assert sandbox.sandbox_id.startswith("sb-")
assert sandbox.jupyter_url.startswith("http") and sandbox.code_server_url is None
(model,) = sandbox.model_handles
assert (model.name, model.var_name) == ("google/gemma-2-2b-it", "model")
assert sandbox.exec_python("import os; print(os.environ['MODEL_GOOGLE_GEMMA_2_2B_IT_PATH'])").stdout.strip() == model.path

# Files and commands.
sandbox.write_file("/workspace/config.json", '{"key": "value"}')
sandbox.ensure_dir("/workspace/outputs")
assert sandbox.exec("cat /workspace/config.json && ls -d /workspace/outputs").stdout == '{"key": "value"}/workspace/outputs\n'

sandbox.upload("wheels", "/workspace/wheels")  # the index of this test
sandbox.exec("pip install einops", env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/workspace/wheels"}, check=True)
assert sandbox.exec_python("import einops; print(einops.__version__)", check=True).stdout == "0.0.1\n"

# A snapshot, and a sandbox with its files.
snapshot = sandbox.snapshot("after setup")
sandbox.terminate()
new_sandbox = Sandbox.from_snapshot(snapshot, config)
assert new_sandbox.read_file("/workspace/config.json") == b'{"key": "value"}'
assert new_sandbox.sandbox_id != sandbox.sandbox_id
new_sandbox.terminate()
print("notebook, files and snapshot")

# All the fields that the documentation names.
Path("data").mkdir(exist_ok=True)
Path("data/table.csv").write_text("1,2\n")
Path("local.txt").write_text("local\n")
Path(".env").write_text("SERVICE_KEY=of the file\n")
config = SandboxConfig(
    gpu=GPU,
    gpu_count=1 if GPU else None,
    execution_mode=ExecutionMode.CLI,
    models=[
        ModelConfig(name="google/gemma-2-9b", revision="main"),
        ModelConfig(name="my-org/my-adapter", is_peft=True, base_model="meta-llama/Llama-2-7b"),
        ModelConfig(name="org/quagmire", var_name="secret", hidden=True),
    ],
    repos=[
        RepoConfig(url=f"{GIT}/org/repo"),
        RepoConfig(url=f"{GIT}/org/other", install="pip install -e ."),
    ],
    python_packages=["torch", "transformers"],
    secrets=["SERVICE_KEY"],
    timeout=3600,
    local_files=[("./local.txt", "/sandbox/path.txt")],
    local_dirs=[("./data", "/workspace/data")],
)
with Sandbox(config) as sandbox:
    said = sandbox.exec(
        "cat /sandbox/path.txt /workspace/data/table.csv; test \"$SERVICE_KEY\" = 'of the file' && echo the secret; cat repo/README",
        check=True,
    ).stdout
    assert said == "local\n1,2\nthe secret\nthe repository\n", said
    assert sandbox.exec_python("import helper; print(helper.__file__)", check=True).stdout == "/workspace/other/helper.py\n"
    names = [(m.name, m.var_name, m.hidden, m.base_model) for m in sandbox.model_handles]
    assert names == [
        ("google/gemma-2-9b", "model", False, None),
        ("my-org/my-adapter", "model_2", False, "meta-llama/Llama-2-7b"),
        ("org/quagmire", "secret", True, None),
        ("meta-llama/Llama-2-7b", "", False, None),  # the base, which is in the sandbox, too
    ], names

# An agent on this computer, at a provider that is named.
config = SandboxConfig(gpu=GPU, execution_mode=ExecutionMode.LOCAL, provider=PROVIDER)
with Sandbox(config) as sandbox:
    assert sandbox.exec("echo a shell").stdout == "a shell\n" and sandbox.jupyter_url is None

# VS Code, or the error that says what is missing.
config = SandboxConfig(gpu=GPU, execution_mode=ExecutionMode.NOTEBOOK, debug=True)
try:
    with Sandbox(config) as sandbox, urllib.request.urlopen(sandbox.code_server_url) as page:
        assert VSCODE and page.status == 200
except ConfigError as e:
    assert not VSCODE and [p.field for p in e.problems] == ["debug"] and "code-server" in str(e), e

# Packages of the system, for which the sandbox needs one of its own.
config = SandboxConfig(gpu=GPU, execution_mode=ExecutionMode.CLI, isolation="gvisor", system_packages=["tree"])
with Sandbox(config) as sandbox:
    assert sandbox.exec("tree --version").stdout.startswith("tree v")
print("all fields")
