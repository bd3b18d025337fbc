"""Local helpers of the agent: they run where it runs and never see the model."""

import math
from typing import Any, Dict, Sequence


def format_result(data: Dict[str, Any], title: str = "Result") -> str:
    """Formats a result as Markdown; of what is long it shows the beginning."""
    lines = [f"## {title}", ""]
    lines += [f"- **{key}**: {_short(value)}" for key, value in data.items()]
    return "\n".join(lines)


def similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors: 1 is the same direction."""
    product = sum(float(a) * float(b) for a, b in zip(one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


def _short(value: Any) -> str:
    if hasattr(value, "__len__") and not isinstance(value, str) and len(value) > 4:
        beginning = ", ".join(f"{number:.3f}" for number in value[:4])
        return f"[{beginning}, …] ({len(value)} numbers)"
    return f"{value:,}" if isinstance(value, int) else str(value)
