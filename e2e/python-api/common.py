"""What differs from a run at a cloud, from the environment of the program."""

import os

GPU = os.environ.get("LAB_GPU") or None
GIT = os.environ.get("LAB_GIT") or "https://github.com"
