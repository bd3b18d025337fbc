"""The Python side of a served interface: loads interface.py, describes it and runs the calls."""

__version__ = "1.0.0"
