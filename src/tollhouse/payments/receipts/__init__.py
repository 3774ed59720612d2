"""Receipts of payments: their numbers, their text, and their PDF files.

Start with `store.py` for the numbers.
"""
