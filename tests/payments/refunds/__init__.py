"""Refunds and reversals."""
