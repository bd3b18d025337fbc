"""The agent of the tests: it does what its prompt asks if it has the functions, and says what it was given otherwise."""

import json
import os

try:
    import helpers
    import model_tools
except ImportError:
    with open(os.environ["SEER_PROMPT"]) as prompt, open(os.environ["SEER_MCP_CONFIG"]) as servers:
        print(prompt.read())
        print("servers:", *sorted(json.load(servers)["mcpServers"]))
else:
    size = len(model_tools.get_embedding("the fox")["embedding"])
    print(helpers.format_result({**model_tools.get_model_info(), "embedding": f"{size} numbers"}))
