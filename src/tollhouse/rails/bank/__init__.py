"""Euros by bank transfer: statements, matching, payouts in batches, and reconciliation.

Start with `import_steps.py` for what comes in, `payouts.py` for what leaves.
"""
