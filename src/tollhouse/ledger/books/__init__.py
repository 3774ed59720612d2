"""The double-entry ledger: accounts, postings, holds, balances, and the invariants that must always hold.

Start with `post.py`, and `holds.py`.
"""
