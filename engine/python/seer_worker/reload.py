"""Takes an edited interface file over in the living worker, where nothing but functions has changed."""

from . import load


class NotSafe(Exception):
    """The file has to be loaded anew; str() says why, with the line. Nothing has changed."""


def reload(interface: load.Interface, path: str) -> load.Interface:
    """The interface after the edit: the same module, a new registry, new binders. path is the file with the new code.

    The caller runs it between calls in the main thread, and uses the new Interface for every call from then on; calls that
    run in other threads go on with the code they began with. NotSafe if anything but functions has changed;
    load.LoadFailed if the new file cannot be loaded at all (a syntax error): then the old one goes on, too.
    """
    raise NotSafe("not there yet")
