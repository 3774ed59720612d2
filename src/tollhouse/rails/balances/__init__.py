"""What rails have outside beside the ledger, and the operator's own money on them.

Start with `measuring.py`.
"""
