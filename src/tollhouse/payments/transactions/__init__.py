"""Transactions: attempts to pay a link, their settlement, and the closing of links.

Start with `verdict.py`, which decides what money means, and `settlement.py`, which writes it.
"""
