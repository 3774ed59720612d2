"""Transfers: withdrawals, balance payments, fulfillments, conversions, and the gate they pass."""
