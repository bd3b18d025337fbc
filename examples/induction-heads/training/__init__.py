"""How the little model of this example was made."""
