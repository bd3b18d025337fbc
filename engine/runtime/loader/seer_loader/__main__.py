"""Starts the program."""
import json
import os

from .self_end import SelfEnd
from .supervisor import Loader
from .system import say, shorten_arguments

if __name__ == "__main__":
    shorten_arguments()
    self_end = SelfEnd()
    try:
        Loader(json.loads(os.environ.pop("SEER_BOOT")), self_end).run()
    except Exception as e:
        say("the loader failed: %s: %s; the machine ends", type(e).__name__, e)
        raise
    finally:  # a machine without this program would cost money on and on
        self_end.make()
