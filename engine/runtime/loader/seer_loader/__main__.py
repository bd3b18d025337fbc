"""Starts the program."""
import json
import os

from .self_end import SelfEnd
from .supervisor import Loader
from .system import shorten_arguments

if __name__ == "__main__":
    shorten_arguments()
    Loader(json.loads(os.environ.pop("SEER_BOOT")), SelfEnd()).run()
