"""The ways by which money comes and goes, a folder each: bank, EVM networks, Bitcoin, cards and the sandbox of test mode.

A rail reports what it observes and decides nothing. It imports `payments` and what is below.
Start with `sandbox/provider.py`, and `configured.py`, which lists the rails.
"""
