"""Idempotency keys: requests that can be repeated without repeating their effect."""
