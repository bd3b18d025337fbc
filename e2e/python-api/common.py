"""What differs from a run at a cloud, from the environment of the program."""

import os

GPU = os.environ.get("LAB_GPU") or None
PROVIDER = os.environ.get("LAB_PROVIDER") or "local"
VSCODE = bool(os.environ.get("LAB_VSCODE"))  # this computer has it
GIT = os.environ.get("LAB_GIT") or "https://github.com"
