"""Webhook events: recorded in the transaction that causes them, delivered by the worker."""
