"""Refunds and chargebacks."""
