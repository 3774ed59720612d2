"""Merchants: signing up and in, sessions, API keys and the account."""
