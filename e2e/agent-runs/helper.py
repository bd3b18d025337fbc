"""Greets whoever is probed."""


def greet(name: str) -> str:
    """Says hello to somebody."""
    return "hello " + name
