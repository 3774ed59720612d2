"""The gate: every transfer that leaves by a rail passes it, with limits, reviews and the check for suspended merchants.

Start with `gate.py`.
"""
