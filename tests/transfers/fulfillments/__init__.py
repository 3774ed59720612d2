"""Fulfillments."""
