"""What the benchmarks serve: a function that does nothing, and some that look like real ones."""

from typing import Dict, List, Optional


@expose  # noqa: F821
def echo(text: str) -> str:
    """Return what came."""
    return text


@expose  # noqa: F821
def get_model_info(name: str = "model") -> Dict[str, int]:
    """Size of a model.

    Args:
        name: the model as the experiment names it.
    """
    return {"layers": 2, "heads": 8}


@expose  # noqa: F821
def attention(text: str, layer: int, head: Optional[int] = None, *, normalise: bool = True) -> List[List[float]]:
    """Attention pattern of one layer.

    Args:
        text: the prompt.
        layer: from 0.
        head: all heads' mean when it is None.
        normalise: rows sum to one.
    """
    return [[1.0]]


@expose  # noqa: F821
def ablate(heads: List[int], *prompts: str, **options: float) -> Dict[str, float]:
    """Loss on the prompts without some heads."""
    return {}
