"""What runs on this computer."""


def format_result(data: dict) -> str:
    """Format a result dict as markdown."""
    return "\n".join(["## Result", *(f"- **{key}**: {value}" for key, value in data.items())])
