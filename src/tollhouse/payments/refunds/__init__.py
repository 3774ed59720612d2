"""Refunds and chargebacks.

Start with `new_refund.py` for what is allowed, `actions.py`, and `reversals.py` for what rails report.
"""
