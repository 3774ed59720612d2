"""Balance payments: payments from a merchant's balance to the owner of a connected application.

Start with `actions.py`.
"""
