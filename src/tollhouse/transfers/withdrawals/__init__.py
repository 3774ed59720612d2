"""Withdrawals: payouts of a merchant's balance by a rail.

Start with `actions.py`, `acceptance.py` for what can refuse one, and `jobs.py`, which sends.
"""
