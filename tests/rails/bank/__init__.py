"""Statements of the bank, and payouts by it."""
