"""The check of the whole database."""
