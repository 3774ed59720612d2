"""Payments and payouts in bitcoin: watching, batches that are signed elsewhere, and their sending.

Start with `jobs.py`, `watching.py` for deposits, and `sending.py`.
"""
