"""Merchants: sign-up, API keys, business settings, and the account pages of users."""
