"""Webhook events: recorded in the transaction that causes them, with the secrets that sign them.

Start with `record.py`.
"""
