"""Euros by bank transfer: statements, matching, payouts in batches, and reconciliation."""
