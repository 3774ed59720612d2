"""Conversions of a merchant's balance from one currency to another, by request or by rule.

Start with `actions.py`, and `prices.py` for the rates.
"""
