from seer.environment import ModelConfig, Sandbox, SandboxConfig, ScopedSandbox, setup_environment
from seer.config.parser import load_config
from seer.harness import run_agent

SandboxConfig(gpus="A100")  # wrong
SandboxConfig(gpu=7)  # wrong
ModelConfig()  # wrong
sandbox = Sandbox(SandboxConfig()).start()
sandbox.exec(7)  # wrong
code: str = sandbox.exec("true").exit_code  # wrong
sandbox.serve("interface.py")  # wrong
scoped = ScopedSandbox(SandboxConfig())
text: str = scoped.serve("interface.py")  # wrong
scoped.serve("interface.py", expose_as="mcp").functions  # wrong
prompt: dict[str, str] = scoped.serve("interface.py", expose_as="prompt")  # wrong
scoped.serve()  # wrong
scoped.serve("interface.py", expose="mcp")  # wrong
scoped.serve.aio("interface.py").functions  # wrong
setup_environment(load_config("config.yaml")).jupyter_url.upper()  # wrong
run_agent("Go.", max_turns="many")  # wrong
run_agent("Go.", runs_dir=7)  # wrong
scoped.serve("interface.py").get_activations("the fox")
