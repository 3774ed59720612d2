"""Limits of connections and API keys: what they may withdraw, refund, pay, convert and order.

Start with `model.py`. The gate counts their uses, `limits.py` changes them, and functions of the database enforce them.
"""
