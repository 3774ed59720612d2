"""Webhook settings, signing secrets, test events, and the history and redelivery of events.

Start with `actions.py`.
"""
