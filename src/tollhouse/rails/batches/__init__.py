"""Payouts that operators export, have signed or carried out elsewhere, and import: what is common to all rails.

It imports what is below the rails, and each rail imports it. Start with `actions.py`, whose `BatchRail` says what differs.
"""
