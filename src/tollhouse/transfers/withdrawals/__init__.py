"""Withdrawals: payouts of a merchant's balance by a rail."""
