"""Endpoints of webhooks, and their settings."""
