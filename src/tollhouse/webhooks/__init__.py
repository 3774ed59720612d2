"""Webhooks: events, their delivery, the addresses that merchants save, and the log of API requests.

It imports `accounts` and what is below. Start with `events/record.py` and `delivery/worker.py`.
"""
