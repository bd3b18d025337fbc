"""A process that makes one call as the original's library did."""

import sys

import requests

reply = requests.post(sys.argv[1], json={"fn": "echo", "args": [sys.argv[2]], "kwargs": {}}, timeout=30)
reply.raise_for_status()
print(reply.json()["result"])
