"""The functions of an interface in each mode, as the guide of the scoped sandbox has it."""

import asyncio
import os
import sys

from common import GPU
from seer.environment import ModelConfig, SandboxConfig, ScopedSandbox
from seer.execution import create_local_session
from seer.harness import run_agent
from seer.workspace import Workspace

sandbox = ScopedSandbox(SandboxConfig(
    gpu=GPU,
    models=[ModelConfig(name="google/gemma-2-9b"), ModelConfig(name="meta-llama/Llama-2-7b")],
))
sandbox.start()
library = sandbox.serve("interface.py", expose_as="library")

from interface import get_activations  # noqa: E402 - the module is there from here on

result = get_activations("the fox", layer=1)
assert result["layer"] == 1 and result["shape"] == [2, 32], result
assert library.list_cache() == {"cache": []}
assert not hasattr(library, "_internal_helper")
names = [m["name"] for m in library.show_models()]
assert names == ["google/gemma-2-9b", "meta-llama/Llama-2-7b"], names
workspace = Workspace(libraries=[library])
print("a library of", *sorted(library.functions))

# The minimal interface, which has the path of its model in itself.
minimal = sandbox.serve("minimal.py", expose_as="library")
assert minimal.get_activations("the fox", 1) == result
assert minimal.paths() == {
    "MODEL_GOOGLE_GEMMA_2_9B_PATH": "/models/google--gemma-2-9b",
    "MODEL_META_LLAMA_LLAMA_2_7B_PATH": "/models/meta-llama--Llama-2-7b",
}, minimal.paths()

tools = sandbox.serve("interface.py", expose_as="mcp", name="tools")
prompt = sandbox.serve("interface.py", expose_as="prompt", name="told")
assert "Extract activations at a specific layer." in prompt and "_internal_helper" not in prompt


async def main():
    session = create_local_session()
    said = []
    async for msg in run_agent(
        session=session,
        mcp_servers=[tools],
        prompts=[prompt],
        task="Analyze model activations",
    ):
        said.append(str(msg))
    for words in ("Analyze model activations", "Extract activations at a specific layer.", "servers: tools", "activations: [2, 32]"):
        assert any(words in s for s in said), (words, said)
    print("an agent with tools")


asyncio.run(main())
sandbox.terminate()
assert "src" not in sys.modules and os.path.basename(workspace.libraries[0].name) == "interface"
