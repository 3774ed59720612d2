"""The key ring and its rotation."""
