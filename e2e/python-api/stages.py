"""The staged form: an experiment file, its environment, and the MCP server of its notebook."""

import json
import os
import subprocess
import sys

from common import GPU
from seer.config.parser import load_config
from seer.environment import ExecutionMode, ExperimentConfig, GPUConfig, ImageConfig, setup_environment

config = load_config("tasks/my-experiment/config.yaml")
assert config.name == "my-experiment" and len(config.github_repos) == 1
assert (config.models[0].name, config.models[0].dtype, config.models[0].device) == ("google/gemma-2-9b-it", "bfloat16", "auto")
assert config.gpu.gpu_count == 1 and config.gpu.use_model_volumes is False, config.gpu

env_handle = setup_environment(config)
print(f"Sandbox ID: {env_handle.sandbox_id}")
print(f"Jupyter URL: {env_handle.jupyter_url}")
assert env_handle.status == "running" and env_handle.jupyter_token and env_handle.experiment_config == config
assert env_handle.jupyter_port == 8888 or env_handle.jupyter_port > 0
assert env_handle.sandbox.exec("ls my-research-code").stdout == "README\nhelper.py\n"

# The agent only needs the URL.
mcp_servers = {
    "notebooks": {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-m", "seer.notebook_mcp"],
        "env": {"SCRIBE_URL": env_handle.jupyter_url},
    }
}
server = mcp_servers["notebooks"]
child = subprocess.Popen(
    [server["command"], *server["args"]], env={**os.environ, **server["env"]}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def ask(number, method, **params):
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    child.stdin.flush()
    while True:
        answer = json.loads(child.stdout.readline())
        if answer.get("id") == number:
            return answer["result"]


ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
names = [t["name"] for t in ask(2, "tools/list")["tools"]]
assert names, names
print("tools", *sorted(names))
child.stdin.close()
assert child.wait() == 0

env_handle._client.terminate_sandbox(env_handle.sandbox_id)

# An image with a command of its own, in a file and in code.
config = load_config("tasks/with-image/config.yaml")
assert config.image == ImageConfig(commands=["echo made > /etc/made"]), config
config = ExperimentConfig(
    name="with-image", gpu=GPUConfig(gpu_type=GPU), image=config.image, sandbox={"execution_mode": ExecutionMode.CLI},
)
env_handle = setup_environment(config)
assert env_handle.sandbox.exec("cat /etc/made").stdout == "made\n"
env_handle._client.terminate_sandbox(env_handle.sandbox_id)
