"""The ledger: books with double entries, accounting, reports, and the hash chain that shows changes.

It imports `accounts` and what is below. Start with `books/post.py`, through which all money moves.
"""
