"""Renamed to `chaos`."""
