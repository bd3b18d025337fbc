"""The functions that the conformance suite of MCP calls."""

import sys
import time

from PIL import Image


@expose  # noqa: F821
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@expose  # noqa: F821
def test_image_content() -> Image.Image:
    """Returns an image."""
    return Image.new("RGB", (1, 1), (255, 0, 0))


@expose  # noqa: F821
def test_tool_with_logging() -> str:
    """Prints while it runs."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        print(text, flush=True)
        time.sleep(0.3)
    return "done"


@expose  # noqa: F821
def test_tool_with_progress() -> str:
    """Draws a bar as tqdm does."""
    for n in (0, 50, 100):
        print(f"\r{n:3d}%|{'#' * (n // 10):<10}| {n}/100 [x]", end="", file=sys.stderr, flush=True)
        time.sleep(0.5)
    return "done"


@expose  # noqa: F821
def test_error_handling() -> None:
    """Fails."""
    raise RuntimeError("This tool intentionally returns an error for testing")
