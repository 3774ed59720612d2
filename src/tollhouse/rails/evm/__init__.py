"""Payments and payouts on EVM networks: watching, payouts, sweeps, and the signer with its keys.

Start with `jobs.py`, `watcher.py` for deposits, and `payouts.py`.
"""
