"""The team of a merchant."""
