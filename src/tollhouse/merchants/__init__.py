"""Merchants: signing up and in, sessions, API keys, the account, and the home page of the dashboard."""
