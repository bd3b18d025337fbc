"""Local helpers of the agent: they run where it runs and never see the model."""

import math
from typing import Any, Dict, List


def format_result(data: Dict[str, Any], title: str = "Result") -> str:
    """Formats a result as Markdown; of long lists it shows the beginning."""
    lines = [f"## {title}", ""]
    lines += [f"- **{key}**: {_short(value)}" for key, value in data.items()]
    return "\n".join(lines)


def similarity(one: List[float], other: List[float]) -> float:
    """The cosine of the angle between two vectors: 1 is the same direction."""
    product = sum(a * b for a, b in zip(one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        beginning = ", ".join(f"{number:.3f}" for number in value[:4])
        return f"[{beginning}, …] ({len(value)} numbers)"
    return f"{value:,}" if isinstance(value, int) else str(value)
