"""Accounts: merchants and their settings, mail, and the audit log."""
