"""Card payments by a provider: payments, disputes, and the balance at the provider.

Start with `payments.py`, which asks the provider (`stripe/cards.py`) and reports.
"""
