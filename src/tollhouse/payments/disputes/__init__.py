"""Disputes: the merchant's response to chargebacks.

Start with `actions.py`.
"""
