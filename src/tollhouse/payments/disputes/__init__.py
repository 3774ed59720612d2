"""Disputes: the merchant's response to chargebacks."""
