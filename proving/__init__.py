"""Proves, under blows, what must hold of webhook delivery: `python -m proving`."""
